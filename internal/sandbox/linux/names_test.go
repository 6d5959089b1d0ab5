//go:build linux && !cgo

package linux_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// stolen is a name on the way to a script that somebody on the host exchanges with another one, and back. Where it ends everything is
// in its place again, so that nothing but the exchange itself tells of it.
type stolen struct {
	t    *testing.T
	name string // and name.2
	away bool
	door *os.File // a FIFO at which the scripts wait
	said bytes.Buffer
	when string // what the script says before the name is taken away
}

func (s *stolen) exchange() {
	s.away = !s.away
	if err := unix.Renameat2(unix.AT_FDCWD, s.name, unix.AT_FDCWD, s.name+".2", unix.RENAME_EXCHANGE); err != nil {
		s.t.Error(err)
	}
}

// Write hears what the script says before it waits: the other bytes run only while their name is in its place.
func (s *stolen) Write(said []byte) (int, error) {
	s.said.Write(said)
	if string(said) == s.when || s.away {
		s.exchange()
	}
	if _, err := s.door.WriteString("\n"); err != nil {
		s.t.Error(err)
	}
	return len(said), nil
}

// run lets c run while the name is taken away and given back.
func (s *stolen) run(f *fixture, c sandbox.Command) result {
	s.t.Helper()
	var err error
	s.door, err = os.OpenFile(f.W+"/door", os.O_RDWR, 0)
	must(s.t, err)
	defer s.door.Close()
	s.said.Reset()
	c.Stdout = s
	c.Admit = func(p sandbox.Proof) error {
		if p != sandbox.ProofFull {
			s.t.Errorf("asked about %q: the program does not stand at its exec", p)
		}
		if s.when == "" {
			s.exchange()
		}
		return nil
	}
	p, err := f.job.Start(within(s.t), c)
	if err != nil {
		return result{fault: err}
	}
	exit, err := p.Wait(within(s.t))
	if s.away {
		s.exchange()
	}
	return result{exit: exit, out: s.said.String(), fault: err}
}

// Somebody on the host takes a name of an approved script away after PID 1 has found the private copy in its place, and gives it
// back before PID 1 looks again: the run is not reported as done.
//
// proves A-POL-11: case 58
func TestANameThatIsTakenAwayEndsTheRun(t *testing.T) {
	for name, below := range map[string]string{"the script": "/t/a/bin/tool", "its directory": "/t/a/bin", "a directory above": "/t/a"} {
		for moment, when := range map[string]string{"at the exec stop": "", "while it runs": "begun\n"} {
			t.Run(name+", "+moment, func(t *testing.T) {
				f := declare(t)
				f.backend.SetDenies(false) // so that every start is asked about at its exec stop
				s := &stolen{t: t, name: f.dir + below, when: when}
				path := f.dir + "/t/a/bin/tool"
				other := s.name + ".2" + path[len(s.name):]
				must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must(t, os.MkdirAll(filepath.Dir(other), 0o755))
				script(t, other, "#!/bin/sh\necho evil; read go <door\n")
				must(t, unix.Mkfifo(f.W+"/door", 0o666))
				f.grant(f.dir+"/t", sandbox.Read|sandbox.Execute, sandbox.OriginRuntimeRoot)
				tool := f.approve(script(t, path, "#!/bin/sh\necho begun; read go <door; . \"$0\"\n"))
				f.open()
				s.run(f, tool()).coded(t, fault.ExecutableResolutionChanged)
				// The control: without approval as a script, the same order of events runs the other bytes to their end.
				unapproved := tool()
				unapproved.Scripts, f.policy.Entries = nil, nil
				if out := s.run(f.again(), unapproved).ok(t); out != when+"evil\n" {
					t.Errorf("control: %q", out)
				}
			})
		}
	}
}
