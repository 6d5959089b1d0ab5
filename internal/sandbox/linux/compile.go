//go:build linux

package linux

import (
	"errors"
	"os"
	"slices"
	"sync"

	"sekisho/internal/sandbox/linux/initproc"
	"sekisho/internal/sandbox/linux/wire"
)

// compiled is the program of PID 1 for one state of the host: its mounts, and the approved scripts. Between compile and
// done it is somebody's.
type compiled struct {
	*initproc.Program
	layout wire.Layout
	// copies are the approved scripts of which a box has a private copy: their places in the program, by path.
	copies map[string]int
	// scripts are the contents of those, handed over after the mounts.
	scripts []*os.File
	at      uint64 // of the table of mounts
	users   int
}

// programs keeps the last program of a plan.
type programs struct {
	mu   sync.Mutex
	last *compiled
}

// compile returns the program for a box of p, which is the last one when nothing that it depends on has changed. Scripts are read
// anew for each box.
func (b *Backend) compile(p *plan) (*compiled, error) {
	p.program.mu.Lock()
	defer p.program.mu.Unlock()
	now, err := b.table.Now()
	if err != nil {
		return nil, err
	}
	if c := p.program.last; c != nil && c.at == now && len(p.view.scripts) == 0 {
		c.users++
		return c, nil
	}
	c, err := b.build(p, now)
	if err != nil {
		return nil, err
	}
	err = p.program.replace(c)
	return c, err
}

func (b *Backend) build(p *plan, at uint64) (_ *compiled, err error) {
	setup := &initproc.Setup{Layout: p.view.layout, Rules: p.view.rules, Filter: p.filter, UID: b.id.in, GID: b.id.inG, Become: b.id.root,
		Hostname: hostName, Network: p.network.setup(), Hidden: b.table.Under}
	setup.Layout.Binds = slices.Clone(setup.Layout.Binds)
	for i := range setup.Layout.Binds {
		if bind := &setup.Layout.Binds[i]; b.id.root && bind.Source != "" {
			bind.FD = setup.Passed
			setup.Passed++
		}
	}
	c := &compiled{copies: map[string]int{}, at: at, users: 1}
	if c.scripts, err = p.view.shown(setup); err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.layout = setup.Layout
	if c.Program, err = initproc.Compile(setup); err != nil {
		return nil, errors.Join(err, c.close())
	}
	for i, path := range c.Copies {
		c.copies[path] = i
	}
	return c, nil
}

// replace makes c the last program; nil for none.
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

// close forgets the last program.
func (s *programs) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replace(nil)
}

func (c *compiled) close() error {
	wire.CloseAll(c.scripts)
	c.scripts = nil
	if c.Program == nil {
		return nil
	}
	return c.File.Close()
}
