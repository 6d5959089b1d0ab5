//go:build linux

package linux

import (
	"fmt"
	"strings"
	"time"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/seen"
	"sekisho/internal/sandbox/linux/wire"
)

// writable is what a policy lets processes or file tools write.
type writable struct {
	paths []string
	// scope names the roots among them: what was found out under one policy says nothing under another. The task's own two
	// directories, other ones each time, are left out.
	scope string
}

func writableOf(p *sandbox.EffectivePolicy) writable {
	var w writable
	var scope strings.Builder
	for _, r := range p.Roots {
		if r.Rights&(sandbox.Write|sandbox.Delete) != 0 {
			w.paths = append(w.paths, r.Path)
			fmt.Fprintf(&scope, "%s\x00%d:%d\x00", r.Path, r.ID.Dev, r.ID.Ino)
		}
	}
	w.scope = scope.String()
	for _, own := range []string{p.Task.Temp, p.Task.Home} {
		if own != "" {
			w.paths = append(w.paths, own)
		}
	}
	return w
}

// knowable reads the state of a program whose bytes may have been proven by an earlier full hash (ADR 23). It is false where
// the kernel lets programs be written that run.
func (j *job) knowable(c *sandbox.Command) (seen.State, bool) {
	if !j.backend.denies() {
		return seen.State{}, false
	}
	s, ok := seen.At(c.Path)
	return s, ok && s.ID == c.ID
}

// expectation is what PID 1 may let c run for without asking: the state in which its executable was last hashed, when the
// rule says that its bytes are still those. nil means that it is stopped, and hashed if need be.
func (j *job) expectation(c *sandbox.Command) *wire.Expect {
	s, ok := j.knowable(c)
	if !ok || !j.backend.seen.Unchanged(s, c.SHA256, j.plan.writable.scope) {
		return nil
	}
	return expect(s)
}

// expect is a state in the words of PID 1.
func expect(s seen.State) *wire.Expect {
	modified, changed := time.Unix(0, s.Modified), time.Unix(0, s.Changed)
	return &wire.Expect{Dev: s.ID.Dev, Ino: s.ID.Ino, Size: s.Size, Mode: uint64(s.Mode),
		MtimeSec: uint64(modified.Unix()), MtimeNsec: uint64(modified.Nanosecond()),
		CtimeSec: uint64(changed.Unix()), CtimeNsec: uint64(changed.Nanosecond())}
}
