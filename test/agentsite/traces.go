package agentsite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

var instanceID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`instance=([0-9a-f]{16})`) })

// Traces looks for what is left of servers on this machine: a control group, or a process in one or with their mounts. Their logs
// name them.
func Traces(logs ...string) error {
	ids := map[string]bool{}
	for _, log := range logs {
		for _, m := range instanceID().FindAllStringSubmatch(log, -1) {
			ids[m[1]] = true
		}
	}
	if len(ids) == 0 {
		return errors.New("no instance id in the logs: nothing to look for")
	}
	var errs []error
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		for id := range ids {
			if err == nil && d.IsDir() && strings.Contains(d.Name(), id) {
				errs = append(errs, fmt.Errorf("control group %s", path))
			}
		}
		return nil
	})
	for id := range ids {
		processes, err := Named(id)
		if err != nil {
			return err
		}
		for _, pid := range processes {
			errs = append(errs, fmt.Errorf("process %s of instance %s", pid, id))
		}
	}
	return errors.Join(errs...)
}
