//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A task that has run one program and then waits for its model: the sandbox is warm and idle.
const waiting = `
model: scripted:latest
capabilities: [completion, tools]
rules:
  - name: plan
    when: {phase: plan}
    reply:
      content:
        tasks: [{id: t1, description: "Run true", depends_on: [], budget_class: 1K, optimistic_tokens: 100, most_likely_tokens: 200, pessimistic_tokens: 300, requires_external_effect: true, required_tools: [process_run]}]
  - name: run
    when: {phase: run}
    once: true
    reply: {tool_calls: [{name: process_run, arguments: {executable: "true", args: [], cwd: WORKSPACE, timeout_seconds: 60, stdin: null}}]}
  - name: think for long
    when: {phase: run}
    reply: {content: done, delay_ms: 600000}
`

// memoryGoal is the bound of everything started, in MB of proportional set size.
const memoryGoal = 40

// memory measures the server alone, and then with a warm, idle sandbox.
func (b *bench) memory() error {
	s, err := b.newSite(waiting, smallest)
	if err != nil {
		return err
	}
	defer s.close()
	var alone, all, rssAlone, rssAll []float64
	count := 0
	starts := b.pairs(5)
	for range starts {
		c, err := s.start()
		if err != nil {
			return err
		}
		one, err := measureTree(c.cmd.Process.Pid)
		if err != nil {
			return errors.Join(err, c.stop())
		}
		if err := b.untilIdle(s, c); err != nil {
			return errors.Join(err, c.stop())
		}
		both, err := measureTree(c.cmd.Process.Pid)
		if err != nil {
			return errors.Join(err, c.stop())
		}
		if both.processes < 2 {
			return errors.Join(errors.New("there is no warm sandbox to measure"), c.stop())
		}
		if err := c.stop(); err != nil {
			return err
		}
		alone, all = append(alone, one.pss), append(all, both.pss)
		rssAlone, rssAll = append(rssAlone, one.rss), append(rssAll, both.rss)
		count = both.processes
	}
	show := func(name string, pss, rss []float64, g string) {
		note(name, "PSS %.1f MB, RSS %.1f MB (median of %d starts)  %s", middleOf(pss).median, middleOf(rss).median, starts, g)
	}
	show("server", alone, rssAlone, "")
	show(fmt.Sprintf("server and warm sandbox, %d processes", count), all, rssAll, goal{bound: memoryGoal}.verdict(middleOf(all).median))
	return nil
}

// untilIdle starts the task and returns when its model is asked the question that it never answers.
func (b *bench) untilIdle(s *site, c *client) error {
	asked := len(s.model.Received())
	// A request of its own each time: the scripted model counts by conversation.
	if _, err := c.tool("agent_run", fmt.Sprintf(`{"request":"run true, time %d"}`, asked)); err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(time.Minute); ; {
		if got := s.model.Received(); len(got) >= asked+3 {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit:
			return fmt.Errorf("the task did not get to its program:\n%s", c.stderr.String())
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
	}
}

// tree is the memory of a process and everything below it, in MB.
type tree struct {
	pss, rss  float64
	processes int
}

func measureTree(root int) (t tree, err error) {
	parents, err := parentsOf()
	if err != nil {
		return t, err
	}
	for pid := range parents {
		above := pid
		for above > 1 && above != root {
			above = parents[above]
		}
		if above != root {
			continue
		}
		pss, rss, err := rollup(pid)
		if err != nil {
			return t, err
		}
		t.pss, t.rss, t.processes = t.pss+pss, t.rss+rss, t.processes+1
	}
	return t, nil
}

// parentsOf maps every process to its parent.
func parentsOf() (map[int]int, error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", n.Name(), "stat"))
		if err != nil {
			continue // ended meanwhile
		}
		if i := strings.LastIndexByte(string(stat), ')'); i >= 0 {
			if f := strings.Fields(string(stat[i+1:])); len(f) > 1 {
				parents[pid], _ = strconv.Atoi(f[1])
			}
		}
	}
	return parents, nil
}

func rollup(pid int) (pss, rss float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, err
	}
	for l := range strings.Lines(string(text)) {
		f := strings.Fields(l)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "Pss:":
			pss = kib * 1024 / 1e6
		case "Rss:":
			rss = kib * 1024 / 1e6
		}
	}
	return pss, rss, nil
}
