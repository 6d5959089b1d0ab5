//go:build linux

package seen

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Reached reports whether a program can be reached below one of the directories by any name: the one that is asked for, or
// that of a bind mount of a directory around it. A doubt is a yes. Names by hard links are counted in State.
func Reached(program string, directories []string) bool {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return true
	}
	return reached(string(info), program, directories, mountOf)
}

// mountOf is the number by which mountinfo knows the mount that holds path.
func mountOf(path string) (string, bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st)
	return strconv.FormatUint(st.Mnt_id, 10), err == nil && st.Mask&unix.STATX_MNT_ID != 0
}

// mount is one line of mountinfo: what part of which file system is seen where.
type mount struct{ id, device, root, point string }

// place is an object by its path within its file system, whatever mounts show it.
type place struct{ device, path string }

func reached(info, program string, directories []string, holder func(string) (string, bool)) bool {
	mounts, ok := parse(info)
	if !ok {
		return true
	}
	locate := func(name string) (place, bool) {
		id, ok := holder(name)
		i := slices.IndexFunc(mounts, func(m mount) bool { return m.id == id })
		if !ok || i < 0 || !within(mounts[i].point, name) {
			return place{}, false
		}
		m := mounts[i]
		return place{m.device, path.Join(m.root, strings.TrimPrefix(name, m.point))}, m.plain()
	}
	at, ok := locate(program)
	if !ok {
		return true
	}
	for _, d := range directories {
		from, ok := locate(d)
		if !ok || from.device == at.device && within(from.path, at.path) {
			return true
		}
		for _, m := range mounts { // what is mounted below it shows, too
			if within(d, m.point) && m.device == at.device && (!m.plain() || within(m.root, at.path)) {
				return true
			}
		}
	}
	return false
}

// plain reports whether the root of a mount is a path: it is none of something that was removed, or of no directory.
func (m mount) plain() bool {
	return strings.HasPrefix(m.root, "/") && !strings.HasSuffix(m.root, "//deleted")
}

// parse reads mountinfo: id, parent, device, root, mount point ...
func parse(info string) ([]mount, bool) {
	var out []mount
	for line := range strings.Lines(info) {
		f := strings.Fields(line)
		if len(f) < 6 {
			return nil, false
		}
		out = append(out, mount{f[0], f[2], unescape.Replace(f[3]), unescape.Replace(f[4])})
	}
	return out, true
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")

// within reports whether name is dir or lies below it, by element.
func within(dir, name string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (rest == "" || dir == "/" || rest[0] == '/')
}
