//go:build linux

package mounts

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
)

// mask is one mount of the host below a source: its path from the source on, and its kind.
type mask struct {
	rel  string
	file bool
}

// below lists the mounts of this namespace that lie under path, outermost first and none below another.
func below(path string) ([]mask, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var all []mask
	for _, rel := range mountsUnder(string(info), path) {
		var st unix.Stat_t
		if err := unix.Lstat(path+rel, &st); err != nil {
			return nil, err
		}
		all = append(all, mask{rel: rel, file: st.Mode&unix.S_IFMT != unix.S_IFDIR})
	}
	return all, nil
}

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

// make returns the detached mount that covers m: an empty read-only directory, or a device that cannot be opened.
func (m mask) make() (*os.File, error) {
	if !m.file {
		return tmpfs(1<<12, Base|ReadOnly|NoExec, "0555")
	}
	null, err := OpenSource("/dev/null", sandbox.FileID{}, true)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return Clone(null, Base|ReadOnly|NoExec, nil)
}
