package linux

import (
	"context"
	"fmt"
	"path/filepath"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// Options are the values a Backend works with.
type Options struct {
	// Program is the absolute path of the product's executable.
	Program string
	// Files performs durable effects (cgroup directories and their files).
	Files fileop.FS
	// Cgroup is what Preflight checks, as ResourcePolicy.Cgroup; "" means "auto".
	Cgroup string
}

// Backend implements sandbox.Backend.
type Backend struct {
	program string
	files   fileop.FS
	cgroup  string
}

// New returns a Backend. It checks nothing of the system; Preflight does.
func New(o Options) (*Backend, error) {
	if !filepath.IsAbs(o.Program) {
		return nil, fmt.Errorf("sandbox program %q is not an absolute path", o.Program)
	}
	if o.Cgroup == "" {
		o.Cgroup = "auto"
	}
	return &Backend{program: o.Program, files: o.Files, cgroup: o.Cgroup}, nil
}

// Child reports whether this process was the first process of a sandbox and has finished.
func Child() bool { return false }

// Preflight builds and destroys a throw-away sandbox.
func (b *Backend) Preflight(ctx context.Context) error { return fmt.Errorf("not built yet") }

// Plan lists the cgroup directories of the task.
func (b *Backend) Plan(p sandbox.EffectivePolicy) ([]sandbox.Step, error) {
	return nil, fmt.Errorf("not built yet")
}

// Observe reads what Revert needs.
func (b *Backend) Observe(ctx context.Context, s sandbox.Step) (sandbox.Undo, error) {
	return sandbox.Undo{}, fmt.Errorf("not built yet")
}

// Apply performs one step.
func (b *Backend) Apply(ctx context.Context, s sandbox.Step, u sandbox.Undo) error {
	return fmt.Errorf("not built yet")
}

// Revert undoes one step.
func (b *Backend) Revert(ctx context.Context, u sandbox.Undo) error {
	return fmt.Errorf("not built yet")
}

// Open builds the live confinement.
func (b *Backend) Open(ctx context.Context, p sandbox.EffectivePolicy, applied []sandbox.Undo) (sandbox.Job, error) {
	return nil, fmt.Errorf("not built yet")
}
