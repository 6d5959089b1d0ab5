package broker

import (
	"context"
	"fmt"
	"path"
	"slices"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/guard"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
	"sekisho/internal/statedir"
)

// Claim implements sandbox.Opener. A root is locked for this task alone, each directory above it together with whoever locks
// another root below that: so a root, one around it and one inside it exclude each other, and neighbours do not
// (A-TX-08).
func (b *Broker) Claim(ctx context.Context, task string, waiting func(root string)) (sandbox.Claim, error) {
	p := b.deps.Policy
	locks, roots, err := claimed(&p)
	if err != nil {
		return nil, failed(err)
	}
	c := &claim{}
	if len(locks) > 0 {
		if c.held, err = b.deps.State.Claim(ctx, locks, func(l statedir.Lock) { waiting(roots[l.Name]) }); err != nil {
			return nil, failed(err)
		}
	}
	var found *guard.Findings
	if b.deps.Recover != nil { // or a dead task's leftovers would count as the user's, and its changes be undone under this task
		err = b.deps.Recover(context.WithoutCancel(ctx))
	}
	if err == nil {
		found, err = guard.Survey(ctx, &p)
	}
	if err == nil {
		c.guards, err = found.Guards, found.Close()
	}
	if err != nil {
		if rerr := c.Release(); rerr != nil {
			return nil, failed(fmt.Errorf("%w (and giving the locks back: %w)", err, rerr))
		}
		return nil, failed(err)
	}
	b.spares.want(c.guards) // while the task is planned
	return c, nil
}

// claimed lists the locks of a policy, and the root that each is about.
func claimed(p *sandbox.EffectivePolicy) (locks []statedir.Lock, roots map[string]string, err error) {
	exclusive, shared := map[string]string{}, map[string]string{}
	for i := range p.Roots {
		r := &p.Roots[i]
		if r.File || !policy.Guardable(r) && !slices.Contains(r.Origins, sandbox.OriginWorkspace) {
			continue
		}
		exclusive[lockName(r.ID)] = r.Path
		for dir := r.Path; dir != "/"; {
			dir = path.Dir(dir)
			above, err := rootio.Exact(dir)
			if err != nil {
				return nil, nil, err
			}
			shared[lockName(above.Info().ID)] = r.Path
			if err := above.Close(); err != nil {
				return nil, nil, err
			}
		}
	}
	roots = exclusive
	for name := range exclusive {
		locks = append(locks, statedir.Lock{Name: name})
	}
	for name, root := range shared {
		if _, ok := exclusive[name]; !ok {
			locks = append(locks, statedir.Lock{Name: name, Shared: true})
			roots[name] = root
		}
	}
	return locks, roots, nil
}

func lockName(id sandbox.FileID) string { return fmt.Sprintf("%x-%x", id.Dev, id.Ino) }

type claim struct {
	held   *statedir.Claim
	guards []sandbox.Guard
}

// Guards implements sandbox.Claim.
func (c *claim) Guards() []sandbox.Guard { return c.guards }

// Release implements sandbox.Claim.
func (c *claim) Release() error {
	if c.held == nil {
		return nil
	}
	return c.held.Release()
}
