//go:build linux

package linux

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"sync"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/initproc"
	"sekisho/internal/sandbox/linux/wire"
)

// compiled is a program of PID 1. Between compile and done it is somebody's.
type compiled struct {
	*initproc.Program
	// copies are the approved scripts of which a box has a private copy: their places in the program, by path.
	copies map[string]int
	// scripts are the contents of those, handed over after the mounts.
	scripts []*os.File
	setup   *initproc.Setup // what it was made from
	users   int
}

// programs keeps the last program: one task's is often the next one's, too.
type programs struct {
	mu   sync.Mutex
	last *compiled
}

// compile returns the program for a box of p, which is the last one when nothing that it depends on has changed, and the state of
// the host's mounts that it is for. Scripts are read anew for each box.
func (b *Backend) compile(p *plan) (_ *compiled, at uint64, err error) {
	b.programs.mu.Lock()
	defer b.programs.mu.Unlock()
	if at, err = b.table.Now(); err != nil {
		return nil, 0, err
	}
	setup := b.setup(p)
	if c := b.programs.last; c != nil && len(p.view.scripts) == 0 && reflect.DeepEqual(c.setup, setup) {
		c.users++
		return c, at, nil
	}
	c, err := b.build(p, setup)
	if err != nil || len(p.view.scripts) > 0 {
		return c, at, err // with private copies it is this box's alone
	}
	return c, at, b.programs.replace(c)
}

// setup is what the program of a box is made from. When the server is root, what is mounted is handed over, and of each source
// only what the host has mounted below it is left.
func (b *Backend) setup(p *plan) *initproc.Setup {
	s := &initproc.Setup{Layout: p.view.layout, Rules: p.view.rules, Filter: p.filter, UID: b.id.in, GID: b.id.inG, Become: b.id.root,
		Hostname: hostName, Network: p.network.setup()}
	s.Layout.Binds = slices.Clone(s.Layout.Binds)
	for i := range s.Layout.Binds {
		bind := &s.Layout.Binds[i]
		if bind.Source == "" {
			continue
		}
		if !bind.File {
			bind.Hidden = b.table.Under(bind.Source)
		}
		if b.id.root {
			bind.FD, bind.Source, bind.ID = s.Passed, "", sandbox.FileID{}
			s.Passed++
		}
	}
	return s
}

func (b *Backend) build(p *plan, setup *initproc.Setup) (_ *compiled, err error) {
	c := &compiled{copies: map[string]int{}, users: 1, setup: setup}
	shown := *setup
	if c.scripts, err = p.view.shown(&shown); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if c.Program, err = initproc.Compile(&shown); err != nil {
		return nil, errors.Join(err, c.close())
	}
	for i, path := range c.Copies {
		c.copies[path] = i
	}
	return c, nil
}

// replace makes c the last program.
func (s *programs) replace(c *compiled) error {
	old := s.last
	s.last = c
	if old == nil || old.users > 0 {
		return nil // whoever has it closes it
	}
	return old.close()
}

// done gives a program back.
func (s *programs) done(c *compiled) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.users--; c.users == 0 && s.last != c {
		return c.close()
	}
	return nil
}

func (c *compiled) close() error {
	wire.CloseAll(c.scripts)
	c.scripts = nil
	if c.Program == nil {
		return nil
	}
	return c.File.Close()
}
