package tool

import (
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
)

// hostile are ways from the roots to what is outside them, or to what is no file. Each is denied by every tool alike.
func hostile(w *world) map[string]string {
	w.link(w.out, "app/outdir")
	w.link(w.out+"/s", "app/c")
	w.link("c", "app/b")
	w.link("y", "app/x")
	w.link("x", "app/y")
	w.link("../../out/s", "app/up")
	w.link("/proc/self/root"+w.out+"/s", "app/magic")
	w.link("/dev/zero", "app/zero")
	w.link(w.out+"/does-not-exist", "app/dangling")
	l, err := net.Listen("unix", w.ws+"/socket")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	paths := map[string]string{
		"outside":               w.out + "/s",
		"outside, missing":      w.out + "/none",
		"prefix look-alike":     w.base + "/app-evil/s", // attack case 1
		"parent of the root":    w.base,
		"root of the system":    "/",
		"shadow":                "/etc/shadow", // attack case 7
		"dots":                  w.ws + "/../out/s",
		"many dots":             w.ws + "//..//out//s", // attack case 6
		"single dots":           w.ws + "/./../out/./s",
		"relative dots":         "../out/s",
		"link to a file":        w.link(w.out+"/s", "app/l"), // attack case 2
		"link to a directory":   w.ws + "/outdir/s",
		"chain":                 w.link("b", "app/a"), // attack case 3
		"cycle":                 w.ws + "/x",
		"relative link":         w.ws + "/up",
		"dangling link outside": w.ws + "/dangling",
		"link through proc":     w.ws + "/magic",
		"proc":                  "/proc/self/environ",
		"FIFO":                  w.fifo("app/pipe"), // attack case 56
		"socket":                w.ws + "/socket",
		"device through a link": w.ws + "/zero",
	}
	if err := syscall.Mknod(w.ws+"/device", syscall.S_IFCHR|0o666, 1<<8|5); err == nil { // only root can make one
		paths["device"] = w.ws + "/device"
	}
	return paths
}

// uses are all ways of giving a path to a tool. process says that the verdict is about a program.
var uses = []struct {
	name, tool string
	args       func(path string) arg
	process    bool
}{
	{"read whole", "file_read", func(p string) arg { return arg{"path": p, "mode": "whole"} }, false},
	{"read range", "file_read", func(p string) arg { return arg{"path": p, "mode": "range", "length": 10} }, false},
	{"read metadata", "file_read", func(p string) arg { return arg{"path": p, "mode": "metadata"} }, false},
	{"search text", "file_search", func(p string) arg { return arg{"root": p, "mode": "text", "query": "SECRET"} }, false},
	{"search glob", "file_search", func(p string) arg { return arg{"root": p, "mode": "glob", "query": "**"} }, false},
	{"tail", "file_search", func(p string) arg { return arg{"root": p, "mode": "tail"} }, false},
	{"overwrite", "file_edit", func(p string) arg { return arg{"path": p, "operation": "overwrite", "content": "x"} }, false},
	{"replace", "file_edit", func(p string) arg { return arg{"path": p, "operation": "atomic_replace", "content": "x"} }, false},
	{"patch", "file_edit", func(p string) arg {
		return arg{"path": p, "operation": "patch", "patch": `{"old_text":"SECRET","new_text":"x"}`}
	}, false},
	{"delete", "file_edit", func(p string) arg { return arg{"path": p, "operation": "delete"} }, false},
	{"rename from", "file_edit", func(p string) arg { return arg{"path": p, "operation": "rename", "new_path": "stolen"} }, false},
	{"rename to", "file_edit", func(p string) arg { return arg{"path": "own", "operation": "rename", "new_path": p} }, false},
	{"list", "dir", func(p string) arg { return arg{"path": p, "operation": "list"} }, false},
	{"mkdir", "dir", func(p string) arg { return arg{"path": p, "operation": "mkdir"} }, false},
	{"rmdir", "dir", func(p string) arg { return arg{"path": p, "operation": "rmdir"} }, false},
	{"cwd", "process_run", func(p string) arg { return arg{"executable": "go", "args": []string{}, "cwd": p} }, false},
	{"program", "process_run", func(p string) arg { return arg{"executable": p, "args": []string{}, "cwd": "."} }, true},
}

// Attack cases 1, 2, 3, 6, 7 and 56: every tool gives the same verdict on a path that leads out of the roots or to no file,
// not a byte of what is there is shown, and nothing changes.
//
// proves A-POL-02, A-TOOL-09, A-AUD-01
func TestSameVerdictOfEveryTool(t *testing.T) {
	w := newWorld(t)
	w.write("app/own", "mine")
	paths := hostile(w)
	w.open()
	before := w.tree()
	for name, path := range paths {
		for _, use := range uses {
			t.Run(name+"/"+use.name, func(t *testing.T) {
				w.audit.reset()
				r := w.call(use.tool, use.args(path))
				split(t, r)
				if r.OK || r.ErrorCategory != fault.PolicyDeny || r.RetryAllowed || r.Fatal != nil {
					t.Fatalf("not a terminal deny: %+v", r)
				}
				if !use.process && r.ErrorCode != fault.PolicyDenied {
					t.Errorf("code %s, want %s", r.ErrorCode, fault.PolicyDenied)
				}
				for _, text := range []string{r.Content, r.UserText, w.audit.text()} {
					if strings.Contains(text, secret) {
						t.Errorf("leaks the secret: %s", text)
					}
				}
				names := w.audit.names()
				if len(names) < 2 || !strings.HasPrefix(names[0], "policy.deny ") || names[len(names)-1] != "tool.call deny" {
					t.Errorf("audit has %q", names)
				}
				if use.process != slices.Contains(names, "process.start deny") {
					t.Errorf("audit has %q", names)
				}
			})
		}
	}
	if diff := cmp.Diff(before, w.tree()); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
	if w.job.opened != 0 {
		t.Error("a sandbox was opened for a denied program")
	}
}

// The control of the table above: the same calls inside the workspace do have their effects.
//
// proves A-POL-02
func TestSameCallsWorkInside(t *testing.T) {
	for _, use := range uses {
		t.Run(use.name, func(t *testing.T) {
			w := newWorld(t)
			path := w.write("app/sub/s", secret)
			w.write("app/own", "mine")
			switch use.name {
			case "list", "cwd", "search glob":
				path = w.ws + "/sub"
			case "mkdir", "rename to":
				path = w.ws + "/sub/new"
			case "rmdir":
				path = w.ws + "/empty"
				if err := os.Mkdir(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			r := w.open().call(use.tool, use.args(path))
			if !r.OK {
				t.Fatalf("refused: %s", r.Content)
			}
		})
	}
}

// A deny does not tell whether anything lies behind the path.
//
// proves A-TOOL-09, A-POL-02
func TestDenyHidesExistence(t *testing.T) {
	w := newWorld(t)
	w.write("app/own", "mine")
	w.write("out/there", secret)
	w.link(w.out+"/there", "app/link-there")
	w.link(w.out+"/gone0", "app/link-gone0")
	w.open()
	for _, use := range uses {
		for _, pair := range [][2]string{{w.out + "/there", w.out + "/gone0"}, {w.ws + "/link-there", w.ws + "/link-gone0"}, {w.ws + "/../out/there", w.ws + "/../out/gone0"}} {
			a, b := w.call(use.tool, use.args(pair[0])), w.call(use.tool, use.args(pair[1]))
			if got, want := strings.ReplaceAll(b.Content, "gone0", "there"), a.Content; got != want {
				t.Errorf("%s differs between existing and missing:\n%s\n%s", use.name, want, got)
			}
			if got, want := strings.ReplaceAll(b.UserText, "gone0", "there"), a.UserText; got != want {
				t.Errorf("%s user text differs:\n%s\n%s", use.name, want, got)
			}
		}
	}
}

// An absolute link that stays inside the roots is followed, also from one root into another, with the rights of where it ends.
//
// proves A-POL-02
func TestLinksInsideTheRoots(t *testing.T) {
	w := newWorld(t)
	w.write("app/real", "inside")
	w.write("ro/doc", "read only")
	w.link(w.ws+"/real", "app/abs")
	w.link(w.ro+"/doc", "app/cross")
	w.open()
	for link, want := range map[string]string{"abs": "inside", "cross": "read only"} {
		r := w.call("file_read", arg{"path": w.ws + "/" + link, "mode": "whole"})
		if _, body := split(t, r); !r.OK || body != want {
			t.Errorf("%s: %s", link, r.Content)
		}
	}
	r := w.call("file_edit", arg{"path": w.ws + "/cross", "operation": "overwrite", "content": "changed"})
	if r.OK || r.ErrorCode != fault.PolicyDenied || r.RequiredPermission != "write" {
		t.Errorf("writing through a link into a read-only root: %+v", r)
	}
	if got := w.read("ro/doc"); got != "read only" {
		t.Errorf("the read-only file is now %q", got)
	}
}

// Rights are those of the root that holds the object.
//
// proves A-POL-01, A-TOOL-02, A-TOOL-03, A-TOOL-06
func TestReadOnlyRoot(t *testing.T) {
	w := newWorld(t)
	w.write("ro/f", "read only")
	w.write("app/own", "mine")
	w.open()
	before := w.tree()
	for _, use := range uses {
		r := w.call(use.tool, use.args(w.ro+"/f"))
		reads := strings.HasPrefix(use.name, "read") || use.name == "tail" || use.name == "search text" || use.name == "search glob"
		if reads && !r.OK {
			t.Errorf("%s: refused: %s", use.name, r.Content)
		}
		want := map[string]string{"delete": "delete", "rmdir": "delete", "program": "execute"}[use.name]
		if want == "" {
			want = "write"
		}
		if fileKind := use.name == "list" || use.name == "cwd"; !reads && !fileKind && (r.OK || r.ErrorCategory != fault.PolicyDeny || r.RequiredPermission != want) {
			t.Errorf("%s: want a deny for %q: %+v", use.name, want, r)
		}
	}
	if diff := cmp.Diff(before, w.tree()); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}
