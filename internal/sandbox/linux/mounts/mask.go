//go:build linux

package mounts

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/wire"
)

// below lists the mounts of this namespace that lie under path, by their paths from there on, outermost first and none
// below another. A mount over path itself may hide some of them.
func below(path string) ([]string, error) {
	info, err := hostMounts()
	if err != nil {
		return nil, err
	}
	return mountsUnder(info, path), nil
}

// hostMounts reads the mounts of the host once: this process sees its root as it was when it started, until it pivots.
var hostMounts = sync.OnceValues(func() (string, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	return string(info), err
})

// mountsUnder reads mountinfo text; the fifth field of a line is the mount point with blanks as octal escapes.
func mountsUnder(info, path string) []string {
	var found []string
	for line := range strings.Lines(info) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := unescape.Replace(fields[4])
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
func cover(root *os.File, target string, all []wire.Bind) error {
	at, err := place(root, target, false, false)
	file := errors.Is(err, unix.ENOTDIR)
	if file {
		at, err = place(root, target, true, false)
	}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTDIR):
		return nil
	case err != nil:
		return wire.Fail(wire.StageMount, target, err)
	}
	defer at.Close()
	f, err := blank(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if !file {
		if err := lead(f, target, all); err != nil {
			return wire.Fail(wire.StageMount, target, err)
		}
	}
	return move(f, at, target)
}

// lead makes the mount points of the binds below target in its cover, and seals it.
func lead(cover *os.File, target string, all []wire.Bind) error {
	for _, b := range all {
		rel, below := strings.CutPrefix(b.Target, target+"/")
		if !below {
			continue
		}
		at, err := place(cover, rel, b.File, true)
		if err != nil {
			return err
		}
		at.Close()
	}
	set := unix.MountAttr{Attr_set: ReadOnly}
	if err := unix.MountSetattr(int(cover.Fd()), "", unix.AT_EMPTY_PATH, &set); err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	return nil
}

// blank is a detached mount with nothing in it; a directory can still be written.
func blank(file bool) (*os.File, error) {
	if !file {
		return tmpfs(1<<16, Base|NoExec, "0555")
	}
	null, err := OpenSource("/dev/null", sandbox.FileID{}, true)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return Clone(null, Base|ReadOnly|NoExec, nil)
}
