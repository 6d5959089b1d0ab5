//go:build linux

package cgroup

import (
	"errors"
	"testing"
)

// A number is a process's own as long as the process lives; whoever has it then stays out, and is not killed with the group.
//
// proves A-SBX-02, A-SBX-09
func TestAProcessThatHasEndedIsNotAddedByItsNumber(t *testing.T) {
	for name, c := range map[string]struct {
		ended  []bool // what a descriptor of it says, look by look
		inside bool
	}{
		"it lives":                    {[]bool{false, false}, true},
		"it has ended":                {[]bool{true, true}, false},
		"it ends while it is brought": {[]bool{false, true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, _, _ := applied(t, "born")
			if g == nil {
				return
			}
			cat, _ := launch(t, "/bin/cat")
			pid, look := cat.Process.Pid, 0
			err := g.Born(pid, func() bool { look++; return c.ended[look-1] })
			if c.inside && err != nil || !c.inside && !errors.Is(err, errEnded) {
				t.Errorf("got %v", err)
			}
			for _, dir := range g.(*group).dirs {
				now, err := procs(dir)
				if in := len(now) == 1 && now[0] == pid; err != nil || in != c.inside || !in && len(now) > 0 {
					t.Errorf("%v is inside %s, %v", now, dir.Name(), err)
				}
			}
		})
	}
}
