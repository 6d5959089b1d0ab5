//go:build linux && !cgo

package linux_test

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/seen"
)

// stopped is a clock that stands still.
type stopped struct{ now int64 }

func (c *stopped) Now() int64    { return c.now }
func (c *stopped) Stepped() bool { return false }

// past sets the clock to so long after the last change of a file.
func (c *stopped) past(t *testing.T, path string, by time.Duration) {
	t.Helper()
	s, ok := seen.At(path)
	if !ok {
		t.Fatalf("%s: no state", path)
	}
	c.now = s.Changed + int64(by)
}

// A program where the sandbox may write, by whatever name, or changed a moment ago is hashed at each start.
//
// proves A-POL-04
func TestWhatTheSandboxMayWriteIsAlwaysHashed(t *testing.T) {
	const moment, longer = 2 * time.Second, 2*time.Second + 1
	f := declare(t)
	clock := &stopped{}
	f.backend.SetClock(clock)
	type program struct {
		path string
		age  time.Duration
	}
	always := map[string]program{"in the workspace": {into(t, f.W, "/bin/echo"), longer}}
	for _, d := range []string{"/bound", "/control"} {
		must(t, os.Mkdir(f.dir+d, 0o755))
		f.grant(f.dir+d, sandbox.Read|sandbox.Execute, sandbox.OriginRuntimeRoot)
	}
	control := into(t, f.dir+"/control", "/bin/echo")
	always["changed a moment ago"] = program{control, moment}
	bound := into(t, f.dir+"/bound", "/bin/echo")
	if os.Geteuid() == 0 {
		must(t, os.Mkdir(f.W+"/bound", 0o755))
		must(t, unix.Mount(f.dir+"/bound", f.W+"/bound", "", unix.MS_BIND, ""))
		t.Cleanup(func() { unix.Unmount(f.W+"/bound", unix.MNT_DETACH) })
		always["bound into the workspace"] = program{bound, longer}
	}
	f.open()
	for name, p := range always {
		clock.past(t, p.path, p.age)
		for range 2 {
			told, r := f.proofs(f.command(p.path, "ran"))
			r.ok(t)
			expectProof(t, name, told, sandbox.ProofFull)
		}
	}
	if os.Geteuid() == 0 { // the control: the same program, a nanosecond older
		clock.past(t, control, longer)
		for _, want := range []sandbox.Proof{sandbox.ProofFull, sandbox.ProofUnchanged} {
			told, r := f.proofs(f.command(control, "ran"))
			r.ok(t)
			expectProof(t, "control", told, want)
		}
	}
}
