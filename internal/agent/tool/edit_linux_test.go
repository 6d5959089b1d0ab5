package tool

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
)

const oldSHA = "34a780ad578b997db55b260beb60b501f3e04d30ba1a51fcf43cd8dd1241780d" // of "old content" by sha256sum

// proves A-TOOL-03, A-TOOL-10, A-TX-02, A-TX-03
func TestEditEffects(t *testing.T) {
	for _, tc := range []struct {
		name string
		args arg
		want map[string]string // path below the workspace → content; "" = absent
		key  string
	}{
		{"overwrite", arg{"operation": "overwrite", "content": "new"}, map[string]string{"f": "new"}, "Wrote"},
		{"overwrite keeps line endings", arg{"path": "crlf", "operation": "overwrite", "content": "x\ny\n"}, map[string]string{"crlf": "x\r\ny\r\n"}, "Wrote"},
		{"create", arg{"path": "fresh", "operation": "overwrite", "content": "new"}, map[string]string{"fresh": "new", "f": "old content"}, "Wrote"},
		{"replace", arg{"operation": "atomic_replace", "content": "new"}, map[string]string{"f": "new"}, "Wrote"},
		{"patch", arg{"operation": "patch", "patch": `{"old_text":"old","new_text":"newer"}`}, map[string]string{"f": "newer content"}, "Wrote"},
		{"guarded", arg{"operation": "overwrite", "content": "new", "expected_sha256": oldSHA}, map[string]string{"f": "new"}, "Wrote"},
		{"delete", arg{"operation": "delete"}, map[string]string{"f": ""}, "Deleted"},
		{"rename", arg{"operation": "rename", "new_path": "g"}, map[string]string{"f": "", "g": "old content"}, "Renamed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.write("app/f", "old content")
			w.write("app/crlf", "a\r\nb\r\n")
			w.open()
			r := w.call("file_edit", arg{"path": "f"}.with(tc.args))
			if !r.OK || !r.SideEffect || len(r.Changed) == 0 || !strings.HasPrefix(r.UserText, tc.key) {
				t.Fatalf("got %+v", r)
			}
			for rel, want := range tc.want {
				got, err := os.ReadFile(w.ws + "/" + rel)
				if want == "" && err == nil || want != "" && string(got) != want {
					t.Errorf("%s holds %q (%v), want %q", rel, got, err, want)
				}
			}
			if entries, _ := os.ReadDir(w.base + "/records"); len(entries) != 0 {
				t.Errorf("left %v behind", entries)
			}
		})
	}
}

// proves A-TOOL-03, A-TOOL-10, A-ERR-02
func TestEditFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		args arg
		code fault.Code
		say  string
	}{
		"patch not JSON":      {arg{"operation": "patch", "patch": "--- a\n+++ b\n"}, fault.ToolFailed, "unified diff"},
		"patch without match": {arg{"operation": "patch", "patch": `{"old_text":"none","new_text":"x"}`}, fault.ToolFailed, "does not occur"},
		"patch ambiguous":     {arg{"operation": "patch", "patch": `{"old_text":"o","new_text":"x"}`}, fault.ToolFailed, "more than once"},
		"wrong hash":          {arg{"operation": "overwrite", "content": "x", "expected_sha256": strings.Repeat("0", 64)}, fault.ToolFailed, "expected_sha256"},
		"replace missing":     {arg{"path": "none", "operation": "atomic_replace", "content": "x"}, fault.ToolFailed, "no such file"},
		"delete directory":    {arg{"path": "sub", "operation": "delete"}, fault.ToolFailed, "directory"},
		"rename onto a file":  {arg{"operation": "rename", "new_path": "other"}, fault.ToolFailed, "already exists"},
		"no parent":           {arg{"path": "no/such/f", "operation": "overwrite", "content": "x"}, fault.ToolFailed, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("app/f", "old content")
			w.write("app/other", "other")
			w.write("app/sub/x", "x")
			w.open()
			before := w.tree()
			r := w.call("file_edit", arg{"path": "f"}.with(tc.args))
			if r.OK || r.SideEffect || r.ErrorCode != tc.code || !r.RetryAllowed || !strings.Contains(r.Content, tc.say) {
				t.Errorf("got %+v, want %q", r, tc.say)
			}
			if diff := cmp.Diff(before, w.tree()); diff != "" {
				t.Errorf("something changed (-before +after):\n%s", diff)
			}
		})
	}
}

// proves A-TOOL-06
func TestDir(t *testing.T) {
	w := newWorld(t)
	w.write("app/sub/b.txt", "12345")
	w.write("app/sub/a/x", "")
	w.link("b.txt", "app/sub/l")
	w.fifo("app/sub/pipe")
	w.write("app/sub/new\nline", "")
	w.write("app/sub/\xffbad", "")
	w.open()
	r := w.call("dir", arg{"path": "sub", "operation": "list"})
	h, body := split(t, r)
	if want := "dir - a/\nfile 5 b.txt\nlink - l\nfile 0 new\\nline\nspecial - pipe\nfile 0 \\xffbad"; body != want || h["entries"] != 6.0 || h["complete"] != true || r.SideEffect {
		t.Errorf("got %v %q, want %q", h, body, want)
	}
	r = w.call("dir", arg{"path": "one/two", "operation": "mkdir"})
	if st, err := os.Stat(w.ws + "/one/two"); err != nil || !st.IsDir() || !r.OK || !r.SideEffect {
		t.Fatalf("mkdir: %v %+v", err, r)
	}
	if diff := cmp.Diff([]string{w.ws + "/one", w.ws + "/one/two"}, r.Changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if r = w.call("dir", arg{"path": "one/two", "operation": "mkdir"}); !r.OK {
		t.Errorf("mkdir of an existing directory: %+v", r)
	}
	r = w.call("dir", arg{"path": "one", "operation": "rmdir"})
	if _, err := os.Stat(w.ws + "/one/two"); err != nil || r.OK || r.ErrorCategory != fault.Validation || !strings.Contains(r.Content, "not empty") {
		t.Errorf("rmdir of a full directory: %v %+v", err, r)
	}
	r = w.call("dir", arg{"path": "one/two", "operation": "rmdir"})
	if _, err := os.Stat(w.ws + "/one/two"); err == nil || !r.OK || !r.SideEffect {
		t.Errorf("rmdir: %v %+v", err, r)
	}
	for path, say := range map[string]string{"sub/b.txt": "not a directory", "none": "no such file"} {
		if r := w.call("dir", arg{"path": path, "operation": "list"}); r.OK || !strings.Contains(r.Content, say) {
			t.Errorf("list %s: %+v", path, r)
		}
	}
	if r := w.call("dir", arg{"path": w.ws, "operation": "rmdir"}); r.OK {
		t.Error("the root itself was removed")
	}
}
