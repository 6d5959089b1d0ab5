//go:build linux

package linux

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/seen"
	"sekisho/internal/sandbox/linux/wire"
)

// What PID 1 is told to expect is what it will read by fstat(2) when nothing has changed, and something else after any change.
//
// proves A-POL-04
func TestAnExpectationIsTheWholeState(t *testing.T) {
	path := t.TempDir() + "/x"
	if err := os.WriteFile(path, []byte("one"), 0o700); err != nil {
		t.Fatal(err)
	}
	known := map[wire.Expect]string{}
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"as made", func() error { return nil }},
		{"another mode", func() error { return os.Chmod(path, 0o500) }},
		{"the mode again", func() error { return os.Chmod(path, 0o700) }},
		{"other bytes", func() error { return os.WriteFile(path, []byte("two"), 0o700) }},
		{"the old times", func() error { return os.Chtimes(path, time.Unix(1, 5), time.Unix(1, 5)) }},
	} {
		time.Sleep(20 * time.Millisecond) // the kernel's clock for files is a coarse one
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		state, ok := seen.At(path)
		if !ok {
			t.Fatal("the kernel does not tell the state of a file")
		}
		got := *expect(state)
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		want := wire.Expect{Dev: uint64(st.Dev), Ino: st.Ino, Size: uint64(st.Size), Mode: uint64(st.Mode),
			MtimeSec: uint64(st.Mtim.Sec), MtimeNsec: uint64(st.Mtim.Nsec), CtimeSec: uint64(st.Ctim.Sec), CtimeNsec: uint64(st.Ctim.Nsec)}
		if got != want {
			t.Errorf("%s: PID 1 would read %+v, and is to expect %+v", c.name, want, got)
		}
		if before, twice := known[got]; twice {
			t.Errorf("%s looks like %s: %+v", c.name, before, got)
		}
		known[got] = c.name
	}
}
