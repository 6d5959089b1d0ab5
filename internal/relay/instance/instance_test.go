package instance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

func open(t *testing.T, root string) *Instance {
	t.Helper()
	i, err := Open(t.Context(), fileop.OS(), root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// proves R-CLI-01
func TestURL(t *testing.T) {
	root := filepath.Join(t.TempDir(), strings.Repeat("deep", 40), "relaycodex")
	if _, _, err := URL(t.Context(), root, ""); fault.CodeOf(err) != fault.RelayInstance {
		t.Fatalf("with none running: %v", err)
	}
	var n atomic.Int32
	address := func(name string) func() string {
		return func() string { return fmt.Sprintf("http://127.0.0.1:1/#%s%d", name, n.Add(1)) }
	}
	a := open(t, root)
	if err := a.Publish(t.Context(), 4711, address("a")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"http://127.0.0.1:1/#a1", "http://127.0.0.1:1/#a2"} {
		if got, _, err := URL(t.Context(), root, ""); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "instances", a.ID(), "page.json"))
	if string(page) != `{"version":1,"port":4711}` || err != nil {
		t.Errorf("page.json: %s, %v", page, err)
	}

	b := open(t, root)
	if err := b.Publish(t.Context(), 4712, address("b")); err != nil {
		t.Fatal(err)
	}
	_, ids, err := URL(t.Context(), root, "")
	if f := fault.As(err); f == nil || f.Variant != "several" || len(ids) != 2 {
		t.Errorf("with two: %v, %v", ids, err)
	}
	if got, _, err := URL(t.Context(), root, b.ID()); got != "http://127.0.0.1:1/#b3" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, _, err := URL(t.Context(), root, "0000"); fault.As(err) == nil || fault.As(err).Variant != "unknown" {
		t.Errorf("an unknown id: %v", err)
	}

	for path, want := range map[string]os.FileMode{root: 0o700, filepath.Join(root, "instances", a.ID()): 0o700,
		filepath.Join(root, "logs", "relaycodex.log"): 0o600, filepath.Join(root, "instances", a.ID(), "page.json"): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "instances", a.ID())); !os.IsNotExist(err) {
		t.Errorf("the directory of a closed instance: %v", err)
	}
}

// What an instance that was killed leaves behind goes with the next start, and is not offered meanwhile.
//
// proves R-CLI-01
func TestKilledInstance(t *testing.T) {
	root := filepath.Join(t.TempDir(), "relaycodex")
	dead := open(t, root)
	if err := dead.Publish(t.Context(), 1, func() string { return "" }); err != nil {
		t.Fatal(err)
	}
	id := dead.ID()
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "instances", id)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"page.json", "control.sock"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := Running(t.Context(), root); len(ids) != 0 || err != nil {
		t.Errorf("running: %v, %v", ids, err)
	}
	open(t, root)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("left behind: %v", err)
	}
}
