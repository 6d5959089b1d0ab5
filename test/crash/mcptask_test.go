//go:build linux && !cgo

package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/test/mcpclient"
)

const opted = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"crash","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// short is a script with every tool of the plan.
var short = []edit{edits[0], edits[5], edits[7]}

// mcpTask is what a server has told about an MCP task: the id, and the last tasks/get.
type mcpTask struct {
	ID     string `json:"taskId"`
	Status string `json:"status"`
	Result struct {
		Content []struct{ Text string }
	}
	Error struct{ Message string }
}

func (m mcpTask) terminal() bool { return m.Status != "" && m.Status != "working" }

// told is m as a test compares it.
func (m mcpTask) told() string { return fmt.Sprint(m.ID, m.Status, m.Result, m.Error) }

func get(c *mcpclient.Client, id string) (m mcpTask, err error) {
	result, err := c.Call("tasks/get", json.RawMessage(fmt.Sprintf(`{"taskId":%q,%s}`, id, opted)))
	if err == nil {
		err = json.Unmarshal(result, &m)
	}
	return m, err
}

// runTask has a task done as an MCP task and returns what was told; an error means that the server died.
func runTask(c *mcpclient.Client) (m mcpTask, err error) {
	result, err := c.Call("tools/call", json.RawMessage(`{"name":"agent_run","arguments":{"request":"do it"},`+opted+`}`))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(result, &m); err != nil || m.ID == "" {
		return m, fmt.Errorf("no task: %s", result)
	}
	tick := time.NewTicker(10 * time.Millisecond) // polling is what a client does
	defer tick.Stop()
	for limit := time.After(time.Minute); !m.terminal(); {
		now, err := get(c, m.ID)
		if err != nil {
			return m, err
		}
		m = now
		select {
		case <-tick.C:
		case <-limit:
			return m, errors.New("the task did not end in time")
		}
	}
	return m, nil
}

// recordFiles are all files below directories of records.
func (s *site) recordFiles() []string {
	s.t.Helper()
	var found []string
	for _, name := range []string{"*", ".*"} {
		files, err := filepath.Glob(filepath.Join(s.StateRoot(), "instances", "*", "mcp-tasks", name))
		if err != nil {
			s.t.Fatal(err)
		}
		found = append(found, files...)
	}
	return found
}

// taskEffects runs a task to its end and returns the numbers of the effects on its records, and of those in between.
func taskEffects(t *testing.T) (records []int, all []string) {
	t.Helper()
	s := newSite(t, script(short))
	s.records = true
	c, err := s.start(s.crashing, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	m, err := runTask(c)
	if err != nil || m.Status != "completed" || !strings.Contains(m.Result.Content[0].Text, "result: All changes are made.") {
		t.Fatalf("the undisturbed task: %v %+v\n%s", err, m, s.log())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.leftovers(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(s.trace)
	if err != nil {
		t.Fatal(err)
	}
	all = strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, effect := range all {
		if strings.Contains(effect, "/mcp-tasks") {
			records = append(records, i+1)
		}
	}
	if len(records) < 10 {
		t.Fatalf("only %d effects on records:\n%s", len(records), data)
	}
	return records, all
}

// judgeTask starts the product twice on what a killed server left and requires one end of the task, the one that was told if
// any was.
func (s *site) judgeTask(told mcpTask) {
	t := s.t
	t.Helper()
	died := s.lastEffect()
	if told.ID != "" {
		left, err := filepath.Glob(filepath.Join(s.StateRoot(), "instances", "*", "mcp-tasks", told.ID+".json"))
		if err != nil || len(left) != 1 {
			t.Errorf("killed at %s: an id was answered whose record is %v %v", died, left, err)
		}
	}
	end := ""
	if told.terminal() {
		end = told.told()
	}
	for range 2 {
		c, err := s.start(s.product, 0)
		if err != nil {
			t.Fatalf("killed at %s: the next start: %v\n%s", died, err, s.log())
		}
		ids := map[string]bool{}
		for _, path := range s.recordFiles() {
			id, ok := strings.CutSuffix(filepath.Base(path), ".json")
			if !ok {
				t.Errorf("killed at %s: %s is left", died, path)
			}
			ids[id] = true
		}
		if told.ID != "" && !ids[told.ID] || len(ids) > 1 {
			t.Errorf("killed at %s: records %v, told %s", died, ids, told.ID)
		}
		for id := range ids {
			m, err := get(c, id)
			switch {
			case err != nil || !m.terminal():
				t.Errorf("killed at %s: %+v %v", died, m, err)
			case end != "" && m.told() != end:
				t.Errorf("killed at %s: the task was %s and is %s", died, end, m.told())
			case end == "" && m.Status == "failed" && m.Error.Message != "server_restarted":
				t.Errorf("killed at %s: %+v", died, m)
			}
			end = m.told()
		}
		if err := c.Close(); err != nil {
			t.Errorf("killed at %s: the next server ended with %v\n%s", died, err, s.log())
		}
	}
	if err := s.leftovers(); err != nil {
		t.Errorf("killed at %s: left behind: %v", died, err)
	}
}

// No id is answered without a record on disk, and no task has two ends, wherever the server dies.
//
// proves A-MCP-12, A-TX-04, A-TX-06
func TestAKillAtEveryEffectOnATaskRecord(t *testing.T) {
	records, _ := taskEffects(t)
	for _, k := range records {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			s := newSite(t, script(short))
			s.records = true
			c, err := s.start(s.crashing, k)
			var told mcpTask
			if err == nil {
				told, err = runTask(c)
			}
			if end := c.Close(); !killed(end) {
				t.Fatalf("the server was to die at its effect %d, but ended with %v after %v\n%s", k, end, err, s.log())
			}
			s.judgeTask(told)
		})
	}
}

// A recovery that dies at any of its effects on records is repeated by the next one.
//
// proves A-MCP-12, A-TX-04
func TestAKillWhileTaskRecordsAreRecovered(t *testing.T) {
	records, all := taskEffects(t)
	middle := 1 + slices.IndexFunc(all, func(effect string) bool { return strings.HasSuffix(effect, "/workspace/a.txt") })
	if middle <= records[0] || middle >= records[len(records)-1] {
		t.Fatalf("effect %d is not between the first and the last of %v on the record", middle, records)
	}
	working := func(t *testing.T) (*site, mcpTask) {
		s := newSite(t, script(short))
		s.records = true
		c, err := s.start(s.crashing, middle)
		var told mcpTask
		if err == nil {
			told, err = runTask(c)
		}
		if end := c.Close(); !killed(end) || told.terminal() || len(s.recordFiles()) != 1 {
			t.Fatalf("killed at %s: %v after %v, told %+v", s.lastEffect(), end, err, told)
		}
		if err := os.Remove(s.trace); err != nil {
			t.Fatal(err)
		}
		return s, told
	}
	s, told := working(t)
	c, err := s.start(s.crashing, 0)
	if end := c.Close(); err != nil || end != nil {
		t.Fatalf("an undisturbed recovery: %v, %v\n%s", err, end, s.log())
	}
	trace, err := os.ReadFile(s.trace)
	if err != nil {
		t.Fatal(err)
	}
	s.judgeTask(told)
	deaths := 0
	for j, effect := range strings.Split(strings.TrimSpace(string(trace)), "\n") {
		if !strings.Contains(effect, "/mcp-tasks") {
			continue
		}
		deaths++
		s, told := working(t)
		c, err := s.start(s.crashing, j+1)
		if end := c.Close(); !killed(end) {
			t.Fatalf("the recovery was to die at %s: %v, %v\n%s", effect, err, end, s.log())
		}
		s.judgeTask(told)
	}
	if deaths < 5 {
		t.Errorf("recovery has only %d effects on the record:\n%s", deaths, trace)
	}
}

// What a server tells of other servers' tasks: nothing while they live; once they have ended, in order or by a kill, how their
// tasks ended; and what they left unfinished when the next start has made it failed.
//
// proves A-MCP-12, A-TX-06
func TestTasksOfOtherServers(t *testing.T) {
	s := newSite(t, script(short))
	s.records = true
	start := func() *mcpclient.Client {
		t.Helper()
		c, err := s.start(s.product, 0)
		if err != nil {
			t.Fatalf("start: %v\n%s", err, s.log())
		}
		return c
	}
	watcher, orderly, doomed := start(), start(), start()
	var done []mcpTask
	for _, c := range []*mcpclient.Client{orderly, doomed} {
		m, err := runTask(c)
		if err != nil || m.Status != "completed" {
			t.Fatalf("%+v %v\n%s", m, err, s.log())
		}
		done = append(done, m)
		if err := os.RemoveAll(s.workspace + "/made"); err != nil { // the script makes it anew
			t.Fatal(err)
		}
	}
	unknown := func(c *mcpclient.Client, id string) bool {
		_, err := get(c, id)
		return err != nil && strings.Contains(err.Error(), "-32602")
	}
	for i, m := range done {
		if !unknown(watcher, m.ID) {
			t.Errorf("task %d of a living server is told", i)
		}
	}
	if err := orderly.Close(); err != nil {
		t.Fatal(err)
	}
	if err := doomed.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	doomed.Close()
	late := start()
	for i, m := range done {
		for name, c := range map[string]*mcpclient.Client{"a server that ran meanwhile": watcher, "a later server": late} {
			if now, err := get(c, m.ID); err != nil || now.told() != m.told() {
				t.Errorf("task %d, %s: %+v %v, was %+v", i, name, now, err, m)
			}
		}
	}
	audit, err := os.ReadFile(s.StateRoot() + "/logs/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(audit), `"event":"recovery.start"`); n != 1 {
		t.Errorf("%d recoveries are in the audit, want that of the killed server", n)
	}
	for _, c := range []*mcpclient.Client{watcher, late} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.leftovers(); err != nil {
		t.Error(err)
	}
}
