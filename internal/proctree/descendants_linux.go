package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Descendants returns the children of the process pid, their children, and so on, as they are now; zombies are left out.
// Processes that start or end meanwhile may be missing or gone: who wants them all ended asks again until none is left.
func Descendants(pid int) ([]ID, error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	type process struct {
		id     ID
		zombie bool
	}
	children := map[int][]process{}
	for _, name := range names {
		n, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + name.Name() + "/stat")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// After the name in parentheses, which may hold anything: state, parent, and 18 fields later the start time.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 20 {
			return nil, fmt.Errorf("/proc/%d/stat is malformed", n)
		}
		parent, err1 := strconv.Atoi(string(fields[1]))
		start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("/proc/%d/stat is malformed: %w", n, err)
		}
		children[parent] = append(children[parent], process{ID{n, start}, fields[0][0] == 'Z'})
	}
	var found []ID
	todo := []int{pid}
	for len(todo) > 0 {
		of := todo[0]
		todo = todo[1:]
		for _, c := range children[of] {
			todo = append(todo, c.id.PID)
			if !c.zombie {
				found = append(found, c.id)
			}
		}
		delete(children, of) // a reused id cannot make a circle
	}
	return found, nil
}
