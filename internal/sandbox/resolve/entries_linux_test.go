package resolve

import (
	"os"
	"testing"
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
	v := &Entries{}
	verify := func(want string) {
		t.Helper()
		if _, err := v.Verify(t.Context(), entry); word(err) != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	verify("")
	if len(v.read) != 0 {
		t.Error("a program that was changed a moment ago is remembered")
	}
	settle := func() {
		var st unix.Stat_t
		must(t, unix.Stat(name, &st))
		time.Sleep(time.Until(time.Unix(st.Ctim.Unix()).Add(freshly + 100*time.Millisecond)))
	}
	settle()
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
	_, err = f.WriteAt([]byte("2"), 5)
	must(t, err)
	must(t, f.Close())
	must(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	verify("executable.hash_changed")
	must(t, os.Remove(name))
	verify("executable.resolution_changed")
}
