package agentsite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range processes {
		if strings.Trim(e.Name(), "0123456789") != "" || e.Name() == fmt.Sprint(os.Getpid()) {
			continue
		}
		groups, _ := os.ReadFile("/proc/" + e.Name() + "/cgroup") // a process that has ended has none
		mounts, _ := os.ReadFile("/proc/" + e.Name() + "/mountinfo")
		for id := range ids {
			if strings.Contains(string(groups), id) || strings.Contains(string(mounts), id) {
				errs = append(errs, fmt.Errorf("process %s of instance %s", e.Name(), id))
			}
		}
	}
	return errors.Join(errs...)
}
