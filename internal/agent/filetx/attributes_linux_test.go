package filetx

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/crashfs"
)

// accessList is a POSIX access list in the kernel's form: owner and user 1234 read and write, the group nothing, so that the
// mode's group bits, which show the mask, are wider than the group's rights.
func accessList() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, 6, 0xffffffff}, {2, 6, 1234}, {4, 0, 0xffffffff}, {16, 6, 0xffffffff}, {32, 0, 0xffffffff}} {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

func setAttribute(t *testing.T, path, name string, value []byte) {
	t.Helper()
	if err := unix.Setxattr(path, name, value, 0); err != nil {
		t.Fatalf("%s of %s: %v", name, path, err)
	}
}

func attribute(path, name string) string {
	buf := make([]byte, 1<<16)
	n, err := unix.Getxattr(path, name, buf)
	if errors.Is(err, unix.ENODATA) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	return string(buf[:n])
}

// state is what must survive of a file or directory.
func state(t *testing.T, path string) map[string]string {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return map[string]string{
		"mode": info.Mode().String(), "access": attribute(path, "system.posix_acl_access"), "default": attribute(path, "system.posix_acl_default"),
		"user": attribute(path, "user.k"), "empty": attribute(path, "user.empty"),
	}
}

func attributed(t *testing.T, l *lab) {
	t.Helper()
	for _, name := range []string{"f", "d"} {
		if name == "d" {
			must(t, os.Mkdir(l.w+"/d", 0o750))
			setAttribute(t, l.w+"/d", "system.posix_acl_default", accessList())
		} else {
			l.put("f", "one", 0o600)
		}
		setAttribute(t, l.w+"/"+name, "system.posix_acl_access", accessList())
		setAttribute(t, l.w+"/"+name, "user.k", []byte("v"))
		setAttribute(t, l.w+"/"+name, "user.empty", nil)
	}
}

// A changed file keeps its access list and attributes, and nobody gets a right by it.
//
// proves A-TOOL-03, A-TX-02
func TestChangesKeepAccessListsAndAttributes(t *testing.T) {
	l := newLab(t)
	attributed(t, l)
	want := state(t, l.w+"/f")
	if want["access"] != string(accessList()) || want["mode"] != "-rw-rw----" {
		t.Fatalf("the file system keeps no access lists: %v", want)
	}
	s := l.on(fileop.OS())
	for name, change := range map[string]func() (Change, error){
		"overwrite": func() (Change, error) { return s.overwrite("f", "one two") },
		"patch":     func() (Change, error) { return s.patch("f", `{"old_text":"one","new_text":"one one"}`) },
		"replace": func() (Change, error) {
			return s.AtomicReplace(context.Background(), scope, s.target("f", rootio.Existing), "one three", "")
		},
	} {
		if _, err := change(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, state(t, l.w+"/f")); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", name, diff)
		}
	}
}

// The directory's default list is for new files; one that had no list gets none.
//
// proves A-TOOL-03
func TestAChangedFileDoesNotInheritAnAccessList(t *testing.T) {
	l := newLab(t)
	l.put("f", "one", 0o660)
	want := state(t, l.w+"/f")
	setAttribute(t, l.w, "system.posix_acl_default", accessList())
	s := l.on(fileop.OS())
	if _, err := s.overwrite("f", "two"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, state(t, l.w+"/f")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// At every point at which the process can stop or a call can fail, no file lets in more people than its list, and what is
// restored has its list and attributes again.
//
// proves A-TX-02, A-TX-03, A-TX-04
func TestRestoredObjectsHaveTheirAccessLists(t *testing.T) {
	ctx := context.Background()
	for name, do := range map[string]func(*session) error{
		"overwrite": func(s *session) error { _, err := s.overwrite("f", "two"); return err },
		"delete":    func(s *session) error { _, err := s.Delete(ctx, scope, s.target("f", rootio.Existing), ""); return err },
		"rmdir":     func(s *session) error { _, err := s.Rmdir(ctx, scope, s.target("d", rootio.Existing)); return err },
	} {
		for _, crash := range []bool{true, false} {
			restored := 0
			for k := 1; ; k++ {
				l := newLab(t)
				l.limit = 0
				attributed(t, l)
				want := map[string]map[string]string{"f": state(t, l.w+"/f"), "d": state(t, l.w+"/d")}
				over := false
				if crash {
					fsys := crashfs.New(fileop.OS(), k, nil)
					err := do(l.on(fsys))
					if over = !fsys.Stopped(); over {
						must(t, err)
					}
					guarded(t, l)
					if _, err := Recover(ctx, l.deps(fileop.OS())); err != nil {
						t.Fatalf("%s, k=%d: %v", name, k, err)
					}
				} else {
					fsys := &failing{FS: fileop.OS(), at: k, err: unix.EIO}
					err := do(l.on(fsys))
					over = fsys.n < k
					if (err == nil) != over {
						t.Fatalf("%s, call %d fails: %v", name, k, err)
					}
				}
				guarded(t, l)
				for _, object := range []string{"f", "d"} {
					if _, err := os.Lstat(l.w + "/" + object); err != nil {
						continue
					}
					if diff := cmp.Diff(want[object], state(t, l.w+"/"+object)); diff != "" {
						t.Errorf("%s, crash %v, k=%d: %s (-want +got):\n%s", name, crash, k, object, diff)
					}
					restored++
				}
				if over {
					break
				}
			}
			if restored < 5 {
				t.Errorf("%s: only %d objects were looked at", name, restored)
			}
		}
	}
}

// guarded fails the test when something in the workspace lets in others without the list that says whom.
func guarded(t *testing.T, l *lab) {
	t.Helper()
	list, err := os.ReadDir(l.w)
	must(t, err)
	for _, e := range list {
		info, err := e.Info()
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 && attribute(l.w+"/"+e.Name(), "system.posix_acl_access") != string(accessList()) {
			t.Errorf("%s has mode %s and no list", e.Name(), info.Mode())
		}
	}
}

// proves A-TOOL-03, A-ERR-01
func TestAttributesThatCannotBeKept(t *testing.T) {
	if got := word(failed("/w/f", &os.PathError{Op: "x", Path: "/w/f", Err: fmt.Errorf("%w: %w", rootio.ErrAttributes, unix.EPERM)})); got != "tool.failed.attributes" {
		t.Error(got)
	}
}
