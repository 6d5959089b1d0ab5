//go:build linux

package mounts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// Table knows what is mounted on the host, by the kernel's own word: it reads the list again when the kernel says that it has
// changed. Safe for concurrent use.
type Table struct {
	mu   sync.Mutex
	file *os.File // /proc/self/mountinfo, which becomes ready when something changes
	info string
	// points are the mount points in it.
	points []string
	at     uint64 // counts the changes
}

// Host is the one table of this process.
var Host = sync.OnceValue(func() *Table { return &Table{} })

// Now returns a number that is another one whenever anything was mounted or unmounted in between.
func (t *Table) Now() (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.refresh()
	return t.at, err
}

// Text is the list itself, as it is now.
func (t *Table) Text() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.refresh()
	return t.info, err
}

// Under lists the mounts of the host that lie under path as mountsUnder does, as of the last Now.
func (t *Table) Under(path string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return mountsUnder(t.points, path)
}

func (t *Table) refresh() error {
	fresh := t.file == nil
	if fresh {
		// Not by os.Open: the runtime's poller would look, too, and whoever looks first is told.
		fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("reading the mounts of this system: %w", err)
		}
		t.file = os.NewFile(uintptr(fd), "/proc/self/mountinfo")
	}
	for {
		poll := []unix.PollFd{{Fd: int32(t.file.Fd()), Events: unix.POLLPRI}}
		if _, err := unix.Poll(poll, 0); err == unix.EINTR {
			continue
		} else if err != nil {
			return fmt.Errorf("watching the mounts of this system: %w", err)
		}
		if !fresh && poll[0].Revents == 0 {
			return nil
		}
		// The change was taken note of; another one after this look makes the file ready again.
		info, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return fmt.Errorf("reading the mounts of this system: %w", err)
		}
		t.info, fresh = string(info), false
		t.points = mountPoints(t.info)
		t.at++
	}
}

// mountPoints reads mountinfo text; the fifth field of a line is the mount point with blanks as octal escapes.
func mountPoints(info string) []string {
	var points []string
	for line := range strings.Lines(info) {
		if fields := strings.Fields(line); len(fields) >= 5 {
			points = append(points, unescape.Replace(fields[4]))
		}
	}
	return points
}

// mountsUnder lists the outermost of those points that lie below path, from there on.
func mountsUnder(points []string, path string) []string {
	var found []string
	for _, point := range points {
		if rel, ok := strings.CutPrefix(point, strings.TrimSuffix(path, "/")); ok && len(rel) > 1 && rel[0] == '/' {
			found = append(found, rel)
		}
	}
	slices.Sort(found)
	var outer []string
	for _, rel := range slices.Compact(found) {
		// Sorting puts "/a-b" between "/a" and "/a/c", so every kept one is asked, not only the last.
		if !slices.ContainsFunc(outer, func(o string) bool { return strings.HasPrefix(rel, o+"/") }) {
			outer = append(outer, rel)
		}
	}
	return outer
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// cover puts something over the mount point at an absolute path of the new root, so that nothing of what lies there is
// seen, neither of a mount of the host nor of what that mount hides: a read-only directory with nothing in it but the way to
// other binds, or a device that cannot be opened. A place that this process cannot reach no payload reaches either, and
// one that does not exist was itself hidden by another mount.
func (b *builder) cover(target string, all []wire.Bind) {
	b.For(wire.StageMount, target)
	dir, file, covered := b.NewLabel(), b.NewLabel(), b.NewLabel()
	op, at := b.place(b.root, target, false)
	op.Then(dir).On(unix.ENOTDIR, file).On(unix.ENOENT, covered).On(unix.EACCES, covered)
	b.Mark(file)
	op, other := b.place(b.root, target, true)
	op.On(unix.ENOENT, covered).On(unix.EACCES, covered).On(unix.ENOTDIR, covered)
	_, null := b.open(opcode.Int(unix.AT_FDCWD), "/dev/null", unix.O_PATH, 0)
	_, blank := b.copyMount(opcode.Value(null), 0)
	b.setattr(blank, Base|ReadOnly|NoExec, unix.MS_PRIVATE, 0)
	b.close(null)
	b.move(opcode.Value(blank), other)
	b.Call(unix.SYS_GETPID).Then(covered)
	b.Mark(dir)
	blank = b.tmpfs(1<<16, Base|NoExec, "0555")
	b.For(wire.StageMount, target)
	b.lead(blank, target, all)
	b.move(opcode.Value(blank), at)
	b.Mark(covered)
}

// lead makes the mount points of the binds below target in its cover, and seals it.
func (b *builder) lead(cover opcode.Ref, target string, all []wire.Bind) {
	for _, bind := range all {
		if rel, below := strings.CutPrefix(bind.Target, target+"/"); below {
			b.close(b.made(cover, rel, bind.File))
		}
	}
	b.setattr(cover, ReadOnly, 0, 0)
}
