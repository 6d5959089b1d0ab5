package resolve

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
)

// An entry in the state in which it was read last is not read again; in any other state, also one that only the file system's
// own stamp tells, it is, and one that was changed a moment ago is read each time.
//
// proves A-POL-04
func TestEntriesAreReadAgainWhenTheyChanged(t *testing.T) {
	name := executableFile(t, tempDir(t)+"/program", "\x7fELF 1")
	e, err := Executable(name)
	must(t, err)
	entry := sandbox.Entry{Path: e.Path, SHA256: e.SHA256}
	changed := func() time.Time {
		var st unix.Stat_t
		must(t, unix.Stat(name, &st))
		return time.Unix(st.Ctim.Unix())
	}
	synctest.Test(t, func(t *testing.T) { // where the clock stands, years before the file's stamps
		v := &Entries{}
		verify := func(want string) {
			t.Helper()
			if _, err := v.Verify(t.Context(), entry); word(err) != want {
				t.Errorf("got %v, want %q", err, want)
			}
		}
		for _, past := range []time.Duration{-time.Hour, 0, freshly} {
			time.Sleep(time.Until(changed().Add(past)))
			verify("")
			if len(v.read) != 0 {
				t.Errorf("a program that was changed %v ago is remembered", past)
			}
		}
		time.Sleep(time.Nanosecond)
		verify("")
		g := v.read[name]
		g.sum = "what only a reading would correct"
		v.read[name] = g
		verify("executable.hash_changed")
		v.read[name] = glance{}
		verify("")
		info, err := os.Stat(name)
		must(t, err)
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		must(t, err)
		was := changed()
		_, err = f.WriteAt([]byte("2"), 5)
		must(t, err)
		must(t, f.Close())
		for first := true; first || changed().Equal(was); first = false { // stamps are as coarse as the kernel's tick
			must(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
		}
		verify("executable.hash_changed")
		must(t, os.Remove(name))
		verify("executable.resolution_changed")
	})
}
