//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/probe"
)

var _ sandbox.Sparer = (*Backend)(nil)

// spareMemory is what the machine must have free for a spare to be built. One takes less than a tenth of it.
const spareMemory = 256 << 20

// spare implements sandbox.Spare: a job whose box nothing has run in, and what is needed to judge it later.
//
// Between its making and its use the host may change anything. What a new box would be is derived again at that moment and
// compared; what the box really shows is looked at from here, through its root. Identities (device and inode) are exact for
// that: as long as the box lives its mounts hold the objects, and nothing else can get their numbers.
type spare struct {
	*job
	mounts string // of the host around the policy's objects, as they were before the box was built
	taken  bool
}

// Spare implements sandbox.Sparer.
func (b *Backend) Spare(ctx context.Context, p sandbox.EffectivePolicy, applied []sandbox.Undo) (sandbox.Spare, error) {
	if p.Network.Access != sandbox.NetworkNone {
		return nil, fmt.Errorf("%w: its listeners would not be a task's", sandbox.ErrNoSpare)
	}
	if free, ok := probe.FreeMemory(os.DirFS("/proc")); !ok || free < spareMemory {
		return nil, fmt.Errorf("%w: memory is short", sandbox.ErrNoSpare)
	}
	before, err := mountTable()
	if err != nil {
		return nil, err
	}
	opened, err := b.Open(ctx, p, applied)
	if err != nil {
		return nil, err
	}
	j := opened.(*job)
	s := &spare{job: j, mounts: around(before, j.plan.view)}
	if err = s.shows(); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// Start implements sandbox.Job: nothing runs in a spare that no task has taken.
func (s *spare) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	if !s.taken {
		return nil, errors.New("a spare sandbox was started before a task took it")
	}
	return s.job.Start(ctx, c)
}

// Close implements sandbox.Job.
func (s *spare) Close(ctx context.Context) error {
	return s.job.Close(ctx)
}

// Take implements sandbox.Spare. The caller is alone with the spare.
func (s *spare) Take(ctx context.Context, p sandbox.EffectivePolicy) error {
	if s.taken {
		return errors.New("a spare sandbox is used once")
	}
	s.taken = true
	if err := s.backend.available(&p); err != nil {
		return err
	}
	now, err := s.backend.planOf(&p)
	if err != nil {
		return err
	}
	table, err := mountTable()
	if err != nil {
		return err
	}
	switch {
	case !now.equal(s.plan):
		return stale("another policy, or another system around it")
	case around(table, now.view) != s.mounts:
		return stale("the host's mounts changed")
	}
	if err := s.shows(); err != nil {
		return err
	}
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	if s.job.box == nil || s.job.box.ended() {
		return stale("its first process is gone")
	}
	s.job.policy, s.job.plan = p, now
	return nil
}

func stale(why string) error { return fmt.Errorf("%w: %s", sandbox.ErrStale, why) }

// ended tells whether PID 1 has ended, whether or not anybody has reaped it.
func (x *box) ended() bool {
	select {
	case <-x.gone:
		return true
	default:
	}
	return x.proc.Ended()
}

// equal tells whether two plans make the same box.
func (p *plan) equal(other *plan) bool {
	return p.filter == other.filter && p.memoryMB == other.memoryMB && p.processes == other.processes &&
		p.network == nil && other.network == nil && reflect.DeepEqual(p.view, other.view)
}

// shows proves that the box shows what a new one would show at each place: what lies on the host under the name of a bind's
// source, which must be what was approved; and over each guarded object a mount of it, which the kernel takes away when
// somebody puts another object there.
func (s *spare) shows() error {
	v := s.plan.view
	for i, b := range v.layout.Binds {
		if b.Source == "" {
			continue
		}
		source, err := mounts.OpenSource(b.Source, b.ID, b.File)
		if err != nil {
			return stale(err.Error())
		}
		err = s.same(source, b.Target, v.mapped[i])
		source.Close()
		if err != nil {
			return err
		}
	}
	for _, g := range v.layout.Guards {
		fd, err := unix.Open(g.Target, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return stale(g.Target + ": " + err.Error())
		}
		object := os.NewFile(uintptr(fd), g.Target)
		err = s.same(object, g.Target, false)
		object.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// same proves that a place in the box is the top of a mount of an object of the host, whose owner is the sandbox's user where he
// is mapped.
func (s *spare) same(object *os.File, target string, mapped bool) error {
	fd, err := lookUp(int(s.box.root.Fd()), target)
	if err != nil {
		return stale(target + ": " + err.Error())
	}
	defer unix.Close(fd)
	const asked = unix.STATX_INO | unix.STATX_UID | unix.STATX_GID
	var there, here unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, asked, &there); err != nil {
		return stale(target + ": " + err.Error())
	}
	if err := unix.Statx(int(object.Fd()), "", unix.AT_EMPTY_PATH, asked, &here); err != nil {
		return stale(target + ": " + err.Error())
	}
	switch id := s.backend.id; {
	case there.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0:
		return stale(target + " is not mounted any more")
	case there.Ino != here.Ino || there.Dev_major != here.Dev_major || there.Dev_minor != here.Dev_minor:
		return stale(target + " is another object on the host")
	case mapped && id.root && (there.Uid != uint32(id.uid) || there.Gid != uint32(id.gid)):
		return stale(target + " has another owner on the host")
	}
	return nil
}

// lookUp finds the object at an absolute path below root, element by element and through no link.
func lookUp(root int, path string) (int, error) {
	at := root
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		next, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if at != root {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// mountTable reads the mounts of this process.
func mountTable() (string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("reading the host's mounts: %w", err)
	}
	return string(text), nil
}

// around picks the lines of mountinfo text that say something about a view: mounts that its sources lie on, whose flags its
// mounts took over, and mounts below them, which are covered.
func around(table string, v *view) string {
	var out strings.Builder
	for line := range strings.Lines(table) {
		point := mountPoint(line)
		for _, b := range v.layout.Binds {
			if b.Source != "" && (within(point, b.Source) || within(b.Source, point)) {
				out.WriteString(line)
				break
			}
		}
	}
	return out.String()
}

// mountPoint is the fifth field of a line, in which blanks and backslashes are octal escapes.
func mountPoint(line string) string {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return ""
	}
	var out strings.Builder
	for rest := fields[4]; rest != ""; {
		if rest[0] == '\\' && len(rest) >= 4 {
			if n, err := strconv.ParseUint(rest[1:4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				rest = rest[4:]
				continue
			}
		}
		out.WriteByte(rest[0])
		rest = rest[1:]
	}
	return out.String()
}
