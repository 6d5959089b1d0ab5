package statedir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// proves A-POL-06, A-TX-06
func TestAMarkCountsWhileItIsHeld(t *testing.T) {
	d := openState(t)
	marks := func() string {
		t.Helper()
		found, err := Marks(d.Path(), func(name string) bool { return strings.HasPrefix(name, "m") })
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(found, " ")
	}
	if got := marks(); got != "" {
		t.Errorf("without an instance: %q", got)
	}
	i := newInstance(t, d)
	m, err := i.Mark(t.Context(), "m1")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"m2", "other"} {
		f, err := i.Sub(other)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if err := os.Symlink(i.Path(), filepath.Join(i.Path(), "m3")); err != nil {
		t.Fatal(err)
	}
	for range 100 { // looking takes nothing away
		if got := marks(); got != "m1" {
			t.Fatalf("marks: %q", got)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if got := marks(); got != "" {
		t.Errorf("after its end: %q", got)
	}
	os.Remove(filepath.Join(i.Path(), "m3"))
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(i.Path()); !os.IsNotExist(err) {
		t.Errorf("the instance is left: %v", err)
	}
}
