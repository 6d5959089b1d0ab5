package filetx

import (
	"context"
	"os"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/rootio"
)

// A file that could not be read, kept and compared in useful time is not changed at all, and one that appears under the
// name of an unfinished change is foreign without being read.
//
// proves A-TX-02, A-STOP-01
func TestHugeFiles(t *testing.T) {
	l := newLab(t)
	l.put("f", "one", 0o644)
	must(t, os.Truncate(l.w+"/f", 4<<40))
	s := l.on(fileop.OS())
	ctx := context.Background()
	f := func() *rootio.Target { return s.target("f", rootio.Existing) }
	for name, call := range map[string]func() (Change, error){
		"overwrite": func() (Change, error) { return s.overwrite("f", "two") },
		"patch":     func() (Change, error) { return s.patch("f", `{"old_text":"one","new_text":"two"}`) },
		"replace":   func() (Change, error) { return s.AtomicReplace(ctx, scope, f(), "two", "") },
		"delete":    func() (Change, error) { return s.Delete(ctx, scope, f(), "") },
		"rename":    func() (Change, error) { return s.rename("f", "g") },
	} {
		if _, err := call(); word(err) != "tool.failed.too_large" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if sum, err := digestOf(f()); err != nil || sum != unlike {
		t.Errorf("digest %q, %v", sum, err)
	}
	if info, err := os.Stat(l.w + "/f"); err != nil || info.Size() != 4<<40 {
		t.Errorf("the file: %v, %v", info, err)
	}
}
