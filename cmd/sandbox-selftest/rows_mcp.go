//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// policyByMCP: the two tools take nothing that names a permission, and no call changes what was applied.
func policyByMCP(sc *scene) {
	s := sc.applied(answering())
	twin := sc.applied(answering())
	if s == nil || twin == nil {
		return
	}
	// The control: whoever may run apply on this machine does change the record.
	before := twin.read(twin.record())
	if err := errors.Join(write(twin.config, twin.yaml("logging: {level: warn}\n")), twin.apply()); err != nil || twin.read(twin.record()) == before {
		sc.Block("the control", "apply does not change the record: %v", err)
	}
	record, config := s.read(s.record()), s.read(s.config)
	c, err := s.serve(sc.program, 0)
	if err != nil {
		sc.Block("the server", "%v: %s", err, c.log())
		c.Close()
		return
	}
	result, err := c.Call("tools/list", map[string]any{})
	var list struct {
		Tools []struct {
			Name        string
			InputSchema struct {
				Properties           map[string]any
				AdditionalProperties *bool
			}
		}
	}
	if jerr := json.Unmarshal(result, &list); err != nil || jerr != nil {
		sc.Fail("tools/list", "%s", result)
	}
	members := map[string][]string{}
	for _, t := range list.Tools {
		members[t.Name] = slices.Sorted(maps.Keys(t.InputSchema.Properties))
		sc.Check("schema of "+t.Name, t.InputSchema.AdditionalProperties != nil && !*t.InputSchema.AdditionalProperties, "it takes other members")
	}
	want := "map[agent_run:[images request session_id temperature] agent_status:[session_id task_id]]"
	sc.Check("what the tools take", fmt.Sprint(members) == want, "%v", members)
	for _, arguments := range []string{
		`{"request":"x","sandbox":{"profile":"development"}}`, `{"request":"x","policy":{}}`, `{"request":"x","workspaces":["/"]}`,
		`{"request":"x","network":"local"}`, `{"request":"x","entries":[]}`, `{"request":"x","approve":true}`,
	} {
		text, err := c.Tool("agent_run", json.RawMessage(arguments))
		sc.Check(arguments, refused(err), "accepted: %s %v", text, err)
	}
	for _, name := range []string{"apply", "agent_apply", "sandbox_set", "config"} {
		text, err := c.Tool(name, map[string]any{})
		sc.Check("tool "+name, refused(err), "%s %v", text, err)
	}
	for _, method := range []string{"sandbox/apply", "configuration/set", "resources/list", "policy/set"} {
		answer, err := c.Call(method, map[string]any{})
		sc.Check("method "+method, refused(err), "%s %v", answer, err)
	}
	if err := c.Close(); err != nil {
		sc.Fail("the end of the server", "%v: %s", err, c.log())
	}
	sc.Check("the record", s.read(s.record()) == record && record != "", "it changed")
	sc.Check("the configuration", s.read(s.config) == config, "it changed")
}

// leavingCall: the model asks for a file behind a link, for a new file behind one, and for a program in a directory
// behind one. The twin's links stay inside, and there each call has its effect.
func leavingCall(sc *scene) {
	const (
		readIt  = `{name: file_read, arguments: {path: WORKSPACE/link/secret, mode: whole}}`
		writeIt = `{name: file_edit, arguments: {path: WORKSPACE/link/planted, operation: overwrite, content: "planted", patch: null, expected_sha256: null, new_path: null}}`
		runIt   = `{name: process_run, arguments: {executable: tool, args: ["-c", "echo x > by-process"], cwd: WORKSPACE/link, timeout_seconds: 30, stdin: null}}`
	)
	for name, call := range map[string]string{"read": readIt, "write": writeIt, "run": runIt} {
		for _, leaves := range []bool{false, true} {
			s := sc.applied(answering(call))
			if s == nil {
				return
			}
			inner := s.workspace + "/inner"
			target := inner
			if leaves {
				target = s.outside
			}
			if err := errors.Join(write(inner+"/secret", "secret-"+name), os.Symlink(target, s.workspace+"/link")); err != nil {
				sc.Block(name, "%v", err)
				return
			}
			secret := strings.TrimSpace(s.read(target + "/secret"))
			status, log := s.do()
			heard := ""
			for _, r := range s.model.Received() {
				heard += string(r.Body)
			}
			effect := map[string]bool{
				"read":  strings.Contains(heard, secret),
				"write": s.read(target+"/planted") != "",
				"run":   s.read(target+"/by-process") != "",
			}[name]
			switch {
			case !leaves && !effect:
				sc.Block(name, "inside the roots it has no effect: %.300s %.300s", status, log)
			case leaves:
				sc.Check(name, !effect && strings.Contains(heard, "policy.denied"), "effect %v; the model was not told of a denial: %v; %.300s %.300s",
					effect, !strings.Contains(heard, "policy.denied"), status, log)
			}
		}
	}
}

// do runs the site's task to its end and returns its status and the server's log.
func (s *site) do() (status, log string) {
	c, err := s.serve(s.sc.program, 0)
	if err == nil {
		status, err = c.runs()
	}
	if end := c.Close(); err != nil || end != nil {
		status += fmt.Sprintf(" (%v, %v)", err, end)
	}
	return status, c.log()
}
