//go:build linux && !cgo

package linux_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/seen"
)

// proofs runs a command and returns what Admit was told, without repetitions, and how it ended.
func (f *fixture) proofs(c sandbox.Command) ([]sandbox.Proof, result) {
	f.t.Helper()
	var told []sandbox.Proof
	c.Admit = func(p sandbox.Proof) error {
		told = append(told, p)
		return nil
	}
	r := f.run(c)
	return slices.Compact(told), r
}

// settled waits until the newest of the files was changed long enough ago to be known again.
func settled(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		var st unix.Stat_t
		must(t, unix.Stat(path, &st))
		time.Sleep(time.Until(time.Unix(st.Ctim.Unix()).Add(2100 * time.Millisecond)))
	}
}

func expectProof(t *testing.T, name string, got []sandbox.Proof, want ...sandbox.Proof) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: proven by %q, want %q", name, got, want)
	}
}

// steps sees what every server here sees, too: that somebody set the machine's clock, another test or a time server.
var steps = seen.NewSystemClock()

// unchanged fails the test unless a program that was hashed is known again, or the clock was set meanwhile and it is known after
// that.
func (f *fixture) unchanged(name string, c sandbox.Command) {
	f.t.Helper()
	for {
		told, r := f.proofs(c)
		r.ok(f.t)
		if slices.Equal(told, []sandbox.Proof{sandbox.ProofUnchanged}) {
			return
		}
		if !steps.Stepped() {
			f.t.Errorf("%s: proven by %q, want %q", name, told, sandbox.ProofUnchanged)
			return
		}
	}
}

// A program of the system is hashed once, and known again in every later sandbox of the server.
//
// proves A-POL-04, A-AUD-01
func TestAnUnchangedProgramIsHashedOnce(t *testing.T) {
	f := sandboxed(t)
	c := f.command(payloadOfSystem(t))
	told, r := f.proofs(c)
	r.ok(t)
	expectProof(t, "first", told, sandbox.ProofFull)
	for range 2 {
		f.unchanged("again", c)
	}
	f.another().open()
	f.unchanged("in the next sandbox", c)
	for _, name := range []string{"in another server", "under another policy"} {
		other := declare(t)
		if name == "under another policy" {
			other.backend = f.backend
		}
		other.open()
		c.Dir = other.W
		told, r = other.proofs(c)
		r.ok(t)
		expectProof(t, name, told, sandbox.ProofFull)
	}
	c.Dir = f.W
	f.run(c).ok(t)
	f.unchanged("under the first policy again", c)
	// Known to be unchanged is not known to be approved.
	c.SHA256 = "00" + c.SHA256[2:]
	told, r = f.proofs(c)
	r.coded(t, fault.ExecutableHashChanged)
	expectProof(t, "another digest", told)
}

// payloadOfSystem is a program that root installed a while ago under one name.
func payloadOfSystem(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/true", "/usr/bin/uname", "/usr/bin/id", "/usr/bin/env"} {
		path, err := filepath.EvalSymlinks(name)
		if err != nil {
			continue
		}
		if s, ok := seen.At(path); ok && s.UID == 0 && s.Links == 1 && s.Mode&0o022 == 0 && time.Since(time.Unix(0, s.Changed)) > 3*time.Second {
			return path
		}
	}
	t.Fatal("no program of the system can be known again")
	return ""
}

// Whatever happens to a program that was hashed, it is hashed again, and does not run when a byte of it is another one.
//
// proves A-POL-04
func TestEveryChangeIsHashedAgain(t *testing.T) {
	f := declare(t)
	dir := f.dir + "/entries"
	must(t, os.Mkdir(dir, 0o755))
	patch := func(path string) { // one byte behind the last section that is read: it would run as before
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		st, err := file.Stat()
		must(t, err)
		var b [1]byte
		_, err = file.ReadAt(b[:], st.Size()-1)
		must(t, err)
		b[0]++
		_, err = file.WriteAt(b[:], st.Size()-1)
		must(t, err)
		must(t, file.Close())
		must(t, os.Chtimes(path, st.ModTime(), st.ModTime()))
	}
	store := func(path string) {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		st, err := file.Stat()
		must(t, err)
		m, err := unix.Mmap(int(file.Fd()), 0, int(st.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		must(t, err)
		must(t, file.Close())
		m[len(m)-1]++
		must(t, unix.Munmap(m))
		must(t, os.Chtimes(path, st.ModTime(), st.ModTime()))
	}
	type change struct {
		name   string
		change func(path string)
		want   fault.Code // "" means that it runs
		again  []sandbox.Proof
	}
	cases := []change{
		{"nothing", func(string) {}, "", []sandbox.Proof{sandbox.ProofUnchanged}},
		{"a byte, and its times set back", patch, fault.ExecutableHashChanged, nil},
		{"a byte through a mapping", store, fault.ExecutableHashChanged, nil},
		{"a byte, and changed back", func(p string) { patch(p); restore(t, p) }, "", []sandbox.Proof{sandbox.ProofFull}},
		{"replaced by equal bytes", func(p string) {
			data, err := os.ReadFile(p)
			must(t, err)
			must(t, os.WriteFile(p+".new", data, 0o755))
			must(t, os.Rename(p+".new", p))
		}, fault.ExecutableResolutionChanged, nil},
		{"a second name", func(p string) { must(t, os.Link(p, p+".link")) }, "", []sandbox.Proof{sandbox.ProofFull}},
		{"a second name that is gone", func(p string) { must(t, os.Link(p, p+".link")); must(t, os.Remove(p+".link")) }, "", []sandbox.Proof{sandbox.ProofFull}},
		{"writable for others", func(p string) { must(t, os.Chmod(p, 0o777)) }, "", []sandbox.Proof{sandbox.ProofFull}},
		{"times", func(p string) { must(t, os.Chtimes(p, time.Unix(1, 0), time.Unix(1, 0))) }, "", []sandbox.Proof{sandbox.ProofFull}},
	}
	root := os.Geteuid() == 0
	if root {
		cases = append(cases, change{"another owner", func(p string) { must(t, os.Chown(p, otherID, otherID)) }, "", []sandbox.Proof{sandbox.ProofFull}})
	}
	var programs []string
	for i := range cases {
		must(t, os.Mkdir(dir+"/"+string(rune('a'+i)), 0o755))
		programs = append(programs, into(t, dir+"/"+string(rune('a'+i)), "/bin/echo"))
	}
	f.grant(dir, sandbox.Read|sandbox.Execute, sandbox.OriginRuntimeRoot)
	f.open()
	settled(t, programs...)
	for i, c := range cases {
		command := f.command(programs[i], "ran")
		told, r := f.proofs(command)
		r.ok(t)
		expectProof(t, c.name+", first", told, sandbox.ProofFull)
		if !root { // his own files: whoever runs the server could change them with the sandbox's own user
			told, r = f.proofs(command)
			r.ok(t)
			expectProof(t, c.name+", a user's own", told, sandbox.ProofFull)
		} else {
			f.unchanged(c.name+", second", command)
		}
		c.change(programs[i])
		if root && c.name == "nothing" {
			f.unchanged(c.name, command)
			continue
		}
		told, r = f.proofs(command)
		switch {
		case c.want != "":
			r.coded(t, c.want)
			if root || slices.Contains(told, sandbox.ProofFull) {
				expectProof(t, c.name, told)
			}
		case root:
			r.ok(t)
			expectProof(t, c.name, told, c.again...)
		default:
			r.ok(t)
		}
	}
}

// restore undoes patch.
func restore(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	data[len(data)-1]--
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = file.Write(data)
	must(t, err)
	must(t, file.Close())
}

// A kernel on which a program can be written while it runs, or run while it is open for writing, proves nothing by its stamps.
//
// proves A-POL-04
func TestWithoutBusyProgramsEverythingIsHashed(t *testing.T) {
	f := declare(t)
	f.backend.SetDenies(false)
	f.open()
	c := f.command(payloadOfSystem(t))
	for range 2 {
		told, r := f.proofs(c)
		r.ok(t)
		expectProof(t, "without", told, sandbox.ProofFull)
	}
	f.backend.SetDenies(true)
	f.run(c).ok(t)
	f.unchanged("control", c)
}

// Setting the clock, to whatever, makes stamps incomparable: everything is hashed again.
//
// proves A-POL-04
func TestAClockThatIsSetForgetsPrograms(t *testing.T) {
	f := sandboxed(t)
	c := f.command(payloadOfSystem(t))
	f.run(c).ok(t)
	f.unchanged("before", c)
	var now unix.Timespec
	must(t, unix.ClockGettime(unix.CLOCK_REALTIME, &now))
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &now); err != nil { // to what it is
		t.Logf("this user cannot set the clock: %v", err)
		return
	}
	told, r := f.proofs(c)
	r.ok(t)
	expectProof(t, "after", told, sandbox.ProofFull)
}

// What cannot be admitted does not run, whether it was hashed or known.
//
// proves A-AUD-01, A-POL-04
func TestWhatIsNotAdmittedDoesNotRun(t *testing.T) {
	f := sandboxed(t)
	no := errors.New("no room in the audit")
	shell := f.command("/bin/sh", "-c", trace)
	steps.Stepped()
	proofs := []sandbox.Proof{sandbox.ProofFull, sandbox.ProofUnchanged}
	if s, ok := seen.At(shell.Path); !ok || s.Links != 1 { // where the shell has several names
		proofs[1] = sandbox.ProofFull
	}
	for i := 0; i < len(proofs); i++ {
		proof := proofs[i]
		var asked []sandbox.Proof
		shell.Admit = func(p sandbox.Proof) error {
			asked = append(asked, p)
			return no
		}
		if r := f.run(shell); !errors.Is(r.fault, no) {
			t.Errorf("%s: %v", proof, r.fault)
		}
		if i == 1 && steps.Stepped() && slices.Equal(asked, []sandbox.Proof{sandbox.ProofFull}) {
			i--
			continue
		}
		expectProof(t, "refused", asked, proof)
		if _, err := os.Lstat(f.W + "/trace"); err == nil {
			t.Fatalf("%s: it ran", proof)
		}
	}
	shell.Admit = nil
	f.run(shell).ok(t)
	if err := os.Remove(f.W + "/trace"); err != nil {
		t.Errorf("control: admitted, it left no trace: %v", err)
	}
}
