//go:build linux

package cgroup

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// Kind is the kind of every step and undo of this package; schema is the version of their data.
const (
	Kind   = "cgroup.directory"
	schema = 1
)

// place is one directory to be made: the data of a step. A driver's places have no name yet.
type place struct {
	Version     int      `json:"version"`
	Controllers []string `json:"controllers"`
	Parent      string   `json:"parent"`
	Name        string   `json:"name"`
}

func (p place) String() string { return p.Parent + "/" + p.Name }

// driver is the place where tasks get their groups; version 1 has one place per hierarchy.
type driver struct {
	files  fileop.FS
	places []place
}

var id = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// Plan implements Driver.
func (d *driver) Plan(instance, task string) ([]sandbox.Step, error) {
	if !id().MatchString(instance) || !id().MatchString(task) {
		return nil, fmt.Errorf("naming a control group after instance %q and task %q: not plain ids", instance, task)
	}
	var steps []sandbox.Step
	for _, p := range d.places {
		p.Name = "agent-mcp-" + instance + "-" + task
		data, err := json.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("planning %v: %w", p, err)
		}
		steps = append(steps, sandbox.Step{Schema: schema, Kind: Kind, Data: data})
	}
	return steps, nil
}

// String implements Driver.
func (d *driver) String() string {
	var parents []string
	for _, p := range d.places {
		parents = append(parents, p.Parent)
	}
	return fmt.Sprintf("cgroup v%d: %s", d.places[0].Version, strings.Join(parents, ", "))
}
