package rootio

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// proves A-POL-14
func TestFilesystemsAreNamed(t *testing.T) {
	const info = `36 35 98:0 /m /m rw,noatime master:1 - virtiofs tag rw
37 35 98:1 / /n rw - fuse.sshfs me@host: rw
38 35 98:2 / /o rw shared:1
`
	for id, want := range map[string]string{"36": "virtiofs", "37": "fuse.sshfs", "38": "", "39": ""} {
		if got := mountType(info, id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	for path, want := range map[string]string{"/proc": "proc", "/dev/shm": "tmpfs"} {
		f, err := os.Open(path)
		must(t, err)
		if got, err := filesystem(f); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		f.Close()
	}
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil || os.Geteuid() != 0 {
		t.Logf("without a FUSE mount: %v", err)
		return
	}
	defer server.Close()
	dir := t.TempDir()
	must(t, unix.Mount("x", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,subtype=sshfs", server.Fd())))
	defer unix.Unmount(dir, unix.MNT_DETACH)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	must(t, err)
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	if got := named(f); got != "fuse.sshfs" {
		t.Errorf("a FUSE mount: %q", got)
	}
}

func FuzzMountType(f *testing.F) {
	f.Add("36 35 98:0 / /m rw - virtiofs tag rw", "36")
	f.Fuzz(func(_ *testing.T, info, id string) { mountType(info, id) })
}
