package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/statedir"
)

// How often a directory is measured while something runs: every measureEvery, but never for more than a measureShare-th of
// the time. A program can write for that long before its cap ends it; a run that is shorter is found out by the next one.
const (
	measureEvery = 500 * time.Millisecond
	measureShare = 20
)

// capped is one private directory with its cap.
type capped struct {
	key   string // of the configuration
	path  string
	mb    int // 0: no cap
	empty func() error
}

// storage keeps the private directories of one task within their caps (A-SBX-08). It is used by one run at a time.
type storage struct {
	dirs    []capped
	home    *statedir.Home // nil when HOME is the task's own
	measure func(path string, limit int64) (statedir.Size, error)
	// unlinked tells the bytes of open files without a name; they count as TEMP's. nil when nobody can tell.
	unlinked func() (int64, error)
	last     time.Time     // when the last measurement began
	took     time.Duration // and what it cost
}

// openStorage takes the workspace's HOME, if there is one, and waits for it while another task of the workspace has it. A
// HOME that is over its cap, because the cap was lowered or its last run ended too early to be measured, is emptied: it
// holds nothing but caches.
func (b *Broker) openStorage(ctx context.Context, p *sandbox.EffectivePolicy) (*storage, error) {
	s := &storage{measure: statedir.Measure}
	if label, identity := p.HomeIdentity(); identity != "" && b.deps.Homes != nil {
		var err error
		if s.home, err = b.deps.Homes.Open(ctx, statedir.HomeName(label, identity)); err != nil {
			return nil, err
		}
	}
	s.own(b.deps.Instance, p, p.Task.Task)
	s.last = time.Now()
	if s.home != nil {
		if err := s.tidy(s.dirs[1]); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	s.took = time.Since(s.last) // HOME was measured, the directories of the task's own are empty: the first run need not begin with that
	return s, nil
}

// own makes the directories with the given name below the instance the task's own ones, in p too: TEMP, and HOME unless it is
// the workspace's.
func (s *storage) own(instance *statedir.Instance, p *sandbox.EffectivePolicy, name string) {
	own := func(key string, mb int, dir string) capped {
		return capped{key, instance.TreePath(tempDir, name, dir), mb, func() error { return instance.EmptyTree(tempDir, name, dir) }}
	}
	temp, home := own("sandbox.temp_mb", p.TempMB, "tmp"), own("sandbox.home_mb", p.HomeMB, "home")
	if s.home != nil {
		home.path, home.empty = s.home.Path(), s.home.Empty
	}
	s.dirs = []capped{temp, home}
	p.Task.Temp, p.Task.Home = temp.path, home.path
}

// sees lets the storage ask a job for files without a name on TEMP's device.
func (s *storage) sees(j sandbox.Job) {
	u, ok := j.(sandbox.Unlinker)
	if !ok || len(s.dirs) == 0 {
		return
	}
	if dev, err := statedir.Device(s.dirs[0].path); err == nil {
		s.unlinked = func() (int64, error) { return u.Unlinked(dev) }
	}
}

// tidy empties a directory that is over its cap.
func (s *storage) tidy(c capped) error {
	if c.mb <= 0 {
		return nil
	}
	size, err := s.measure(c.path, c.bytes())
	if err == nil && size.Over(c.bytes()) {
		err = c.empty()
	}
	return err
}

func (c capped) bytes() int64 { return int64(c.mb) << 20 }

// close lets the next task of the workspace have its HOME.
func (s *storage) close() error {
	if s == nil || s.home == nil {
		return nil
	}
	home := s.home
	s.home = nil
	return home.Close()
}

// check measures every directory once and returns the fault of the first one over its cap. What cannot be measured is over it.
func (s *storage) check() *fault.Error {
	s.last = time.Now()
	defer func() { s.took = time.Since(s.last) }()
	for i, c := range s.dirs { // TEMP is the first
		if c.mb <= 0 {
			continue
		}
		size, err := s.measure(c.path, c.bytes())
		if i == 0 && err == nil && s.unlinked != nil {
			var more int64
			more, err = s.unlinked()
			size.Bytes += more
		}
		opts := []fault.Option{fault.Target(c.key), fault.Arg("key", c.key), fault.Arg("mb", c.mb)}
		switch {
		case err != nil:
			return fault.New(fault.ResourceStorageLimit, append(opts, fault.Cause(err))...)
		case size.TooDeep:
			return fault.New(fault.ResourceStorageLimit, append(opts, fault.Variant("deep"))...)
		case size.Over(c.bytes()):
			return fault.New(fault.ResourceStorageLimit, opts...)
		}
	}
	return nil
}

// clear empties what is over its cap. Nothing runs.
func (s *storage) clear() error {
	var errs []error
	for _, c := range s.dirs {
		errs = append(errs, s.tidy(c))
	}
	return errors.Join(errs...)
}

// due is when the next measurement may begin.
func (s *storage) due() time.Time { return s.last.Add(max(measureEvery, measureShare*s.took)) }

// watch measures while ctx lasts, and calls over once with the first excess.
func (s *storage) watch(ctx context.Context, over func(*fault.Error)) {
	for {
		timer := time.NewTimer(time.Until(s.due()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if f := s.check(); f != nil {
			over(f)
			return
		}
	}
}

// cappedProcess is a run whose directories are watched.
type cappedProcess struct {
	inner   sandbox.Process
	storage *storage

	stop     context.CancelFunc
	watching sync.WaitGroup
	exceeded chan *fault.Error // one at most

	once sync.Once
	exit sandbox.Exit
	err  error
}

func (s *storage) process(inner sandbox.Process) *cappedProcess {
	ctx, stop := context.WithCancel(context.Background())
	p := &cappedProcess{inner: inner, storage: s, stop: stop, exceeded: make(chan *fault.Error, 1)}
	p.watching.Go(func() { s.watch(ctx, func(f *fault.Error) { p.exceeded <- f }) })
	return p
}

// end stops the watch; it may be repeated.
func (p *cappedProcess) end() {
	p.stop()
	p.watching.Wait()
}

// Wait implements sandbox.Process. An excess ends the tree, as a cancel would, and is the error whatever the run's own end
// was; then the directory is emptied, so that the next run can work.
func (p *cappedProcess) Wait(ctx context.Context) (sandbox.Exit, error) {
	p.once.Do(func() { p.exit, p.err = p.wait(ctx) })
	return p.exit, p.err
}

func (p *cappedProcess) wait(ctx context.Context) (sandbox.Exit, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var over *fault.Error
	listening := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(listening)
		select {
		case over = <-p.exceeded:
			cancel()
		case <-ended:
		}
	}()
	exit, err := p.inner.Wait(inner)
	p.end()
	close(ended)
	<-listening
	if over == nil {
		select {
		case over = <-p.exceeded:
		default:
			return exit, err
		}
	}
	if e := fault.As(err); ctx.Err() != nil || e != nil && e.Code != fault.AgentCancelled {
		over = nil // another reason came first
	}
	if cerr := p.storage.clear(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("emptying what exceeded its cap: %w", cerr))
		return exit, fault.New(fault.SandboxFailed, fault.Cause(err))
	}
	if over == nil {
		return exit, err
	}
	return sandbox.Exit{Code: -1, Signal: "SIGKILL", Elapsed: exit.Elapsed}, over
}
