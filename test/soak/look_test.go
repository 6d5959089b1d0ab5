//go:build linux && !cgo

package soak

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// view is what the machine looks like to and around this process.
type view struct {
	exact  map[string]string // must be the same
	amount map[string]int    // may grow by slack
}

// keysOfUser are the keys of all sandboxes that root makes on this machine, those of tests that run at the same time among them.
const keysOfUser = "keys of the sandbox's user"

// slack is what may be more afterwards: what the runtime keeps for later, in KiB, threads, and what others on this machine have.
var slack = map[string]int{"heap KiB": 2048, "threads": 8, "resident KiB": 16 << 10, keysOfUser: 10}

// look describes everything that a task could leave behind.
func (s *server) look() view {
	s.broker.Prepare(nil) // puts off the spare that follows a task: it would be seen
	for range 3 {
		runtime.GC()
	}
	v := view{map[string]string{}, map[string]int{}}
	kinds := map[string]int{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "/proc/") {
			kind, _, _ := strings.Cut(to, ":")
			kinds[kind]++
		}
	}
	v.exact["descriptors"] = fmt.Sprint(kinds)
	v.exact["children"] = fmt.Sprint(children(os.Getpid()))
	v.exact["mounts"] = s.mounts()
	v.exact["control groups"] = strings.Join(s.groups(), " ")
	v.exact["instance directory"] = strings.Join(below(s.instance.Path()), " ")
	v.exact["workspace"] = strings.Join(below(s.W), " ")
	v.amount[keysOfUser] = keys()
	v.exact["files of the sandbox in /dev/shm"] = strings.Join(foreign("/dev/shm"), " ")
	v.exact["shared memory and queues"] = ipc()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	v.amount["heap KiB"] = int(m.HeapAlloc >> 10)
	v.amount["threads"] = status("Threads:")
	v.amount["resident KiB"] = status("VmRSS:")
	v.amount["dying control groups"] = dying() // not judged: others on this machine make some, too
	return v
}

// left says what a view has that the one before had not, beyond the slack.
func (v view) left(before view) (found []string) {
	if diff := cmp.Diff(before.exact, v.exact); diff != "" {
		found = append(found, "(-before +after):\n"+diff)
	}
	for name, limit := range slack {
		if grown := v.amount[name] - before.amount[name]; grown > limit {
			found = append(found, fmt.Sprintf("%s grew from %d to %d, by more than %d", name, before.amount[name], v.amount[name], limit))
		}
	}
	return found
}

// settle looks until nothing is left, at most for a while: the kernel drops some things a moment after their end, and
// other tests of this machine come and go.
func (s *server) settle(before view) view {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(10 * time.Second)
	for {
		v := s.look()
		if len(v.left(before)) == 0 {
			return v
		}
		select {
		case <-tick.C:
		case <-limit:
			return v
		}
	}
}

// since tells what one line can hold of two views.
func (v view) since(before view) string {
	var out []string
	for _, name := range slices.Sorted(keysOf(v.amount)) {
		out = append(out, fmt.Sprintf("%s %d → %d", name, before.amount[name], v.amount[name]))
	}
	for _, name := range slices.Sorted(keysOf(v.exact)) {
		same := "as before"
		if v.exact[name] != before.exact[name] {
			same = "CHANGED"
		}
		out = append(out, name+" "+same)
	}
	return strings.Join(out, ", ")
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// mounts lists this namespace's mounts without those that other tests, which may run at the same time, make for themselves.
func (s *server) mounts() string {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, s.dir) || !strings.Contains(line, "/sekisho-") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// groups are the control groups of this instance.
func (s *server) groups() []string {
	var found []string
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), s.instance.ID()) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

func below(dir string) []string {
	var found []string
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		found = append(found, strings.TrimPrefix(path, dir))
		return nil
	})
	return found
}

// sandboxUser is whom the backend runs root's payloads as; an ordinary user's run as himself.
const sandboxUser = 2147450881

func user() int {
	if os.Geteuid() == 0 {
		return sandboxUser
	}
	return os.Geteuid()
}

// keys counts those that the kernel charges to the sandbox's user.
func keys() int {
	text, _ := os.ReadFile("/proc/key-users")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == strconv.Itoa(user())+":" {
			n, _, _ := strings.Cut(f[3], "/")
			count, _ := strconv.Atoi(n)
			return count
		}
	}
	return 0
}

func foreign(dir string) []string {
	var found []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() == "z" {
			found = append(found, e.Name())
		}
	}
	return found
}

// ipc counts what SysV keeps for the sandbox's user outside of it.
func ipc() string {
	n := 0
	for _, name := range []string{"shm", "msg", "sem"} {
		text, _ := os.ReadFile("/proc/sysvipc/" + name)
		n += strings.Count(string(text), strconv.Itoa(sandboxUser))
	}
	return strconv.Itoa(n)
}

func children(parent int) []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		after := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))); after[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// status reads a number of this process.
func status(name string) int {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

// dying is how many memory groups the kernel keeps although their directory is gone, because pages of files that stay
// in the cache were charged to them. It frees them when it needs the memory.
func dying() int {
	live := 0
	for _, root := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup"} {
		if _, err := os.Stat(root + "/cgroup.procs"); err != nil {
			continue
		}
		filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				live++
			}
			return nil
		})
		break
	}
	text, _ := os.ReadFile("/proc/cgroups")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "memory" {
			all, _ := strconv.Atoi(f[2])
			return all - live
		}
	}
	return 0
}
