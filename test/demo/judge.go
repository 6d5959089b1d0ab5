package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sekisho/test/demo/evidence"
)

// judge collects what is wrong with one run.
type judge struct {
	run      evidence.Run
	checks   int
	failures []string
}

func (j *judge) check(ok bool, format string, args ...any) {
	j.checks++
	if !ok {
		j.failures = append(j.failures, fmt.Sprintf(format, args...))
	}
}

func (j *judge) summary() string {
	if j.run.Want.Killed {
		return "server killed, recovered, " + j.run.Want.Code
	}
	return strings.TrimSpace(j.run.Want.Status + " " + j.run.Want.Code)
}

func (j *judge) examine() {
	audit := j.auditLines()
	j.transcript()
	j.disk(audit)
	j.audit(audit)
	j.network()
	j.canary()
	j.leftovers()
}

// event is a line of the audit log; unknown members stay in raw.
type event struct {
	Event   string `json:"event"`
	TaskID  string `json:"task_id"`
	Tool    string `json:"tool"`
	Dec     string `json:"decision"`
	Kind    string `json:"kind"`
	Target  string `json:"target"`
	Reason  string `json:"reason"`
	Exe     string `json:"exe"`
	Exit    *int   `json:"exit_code"`
	Path    string `json:"path"`
	After   string `json:"after_sha256"`
	State   string `json:"state"`
	Args    string `json:"arguments"`
	SHA256  string `json:"sha256"`
	Instant string `json:"ts"`
}

func (j *judge) auditLines() []event {
	data, err := os.ReadFile(filepath.Join(j.run.Logs, "audit.jsonl"))
	j.check(err == nil, "no audit log: %v", err)
	var events []event
	for line := range bytes.Lines(data) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			j.check(false, "audit line is no JSON object: %q", line)
			continue
		}
		if e.TaskID == "" || e.TaskID == j.run.TaskID {
			events = append(events, e)
		}
	}
	return events
}

// transcript checks that the wire carried MCP and that agent_status said what the run must end with.
func (j *judge) transcript() {
	var last string
	for _, path := range j.run.Transcripts {
		f, err := os.Open(path)
		if err != nil {
			j.check(false, "no transcript: %v", err)
			continue
		}
		defer f.Close()
		for r := bufio.NewReader(f); ; {
			line, err := r.ReadString('\n')
			payload, received := strings.CutPrefix(line, "< ")
			if received {
				var m struct {
					JSONRPC string
					Result  struct{ Content []struct{ Text string } }
				}
				j.check(json.Unmarshal([]byte(payload), &m) == nil && m.JSONRPC == "2.0", "stdout carried something that is no MCP message: %.200q", payload)
				if len(m.Result.Content) == 1 {
					last = m.Result.Content[0].Text
				}
			}
			if err != nil {
				break
			}
		}
	}
	j.check(last == j.run.FinalText && last != "", "the last answer on the wire is not the one the actor reports")
	fields := map[string]string{}
	for line := range strings.Lines(last) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		if _, ok := fields[name]; !ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	want := j.run.Want
	if want.Killed {
		j.check(fields["error_code"] == want.Code, "the restarted server answers %q, want %s", last, want.Code)
		return
	}
	j.check(fields["task_id"] == j.run.TaskID, "agent_status tells task %q", fields["task_id"])
	j.check(fields["status"] == want.Status, "status is %q, want %q (%s)", fields["status"], want.Status, fields["last_error"])
	if want.Code != "" {
		j.check(slices.Contains(strings.Split(want.Code, "|"), fields["last_error_code"]), "last_error_code is %q, want %s", fields["last_error_code"], want.Code)
		j.check(fields["last_error"] != "", "a failed run tells no last_error")
		_, hasResult := fields["result"]
		j.check(!hasResult, "a failed run tells a result")
	}
	if want.Status == "completed" {
		done, total, _ := strings.Cut(fields["completed_tasks"], "/")
		j.check(done == total && total != "0", "completed_tasks is %q", fields["completed_tasks"])
		j.check(fields["result"] != "", "a completed run tells no result")
		j.check(!want.Denied || fields["last_error_code"] == "policy.denied", "the completed run hides that something was denied")
	}
	if want.Replanned {
		j.check(fields["replans"] != "0" && fields["replans"] != "", "agent_status counts %q replans", fields["replans"])
	}
}

func (j *judge) disk(audit []event) {
	sum, err := digest(j.run.Source)
	j.check(err == nil, "the source file is gone: %v", err)
	j.check((sum != j.run.SourceSHA256) == j.run.Want.Changed, "source file changed: %v, want %v", sum != j.run.SourceSHA256, j.run.Want.Changed)
	secret, err := digest(j.run.Secret)
	j.check(err == nil && secret == j.run.SecretSHA256, "the file outside was changed or removed (%v)", err)
	if !j.run.Want.Changed {
		return
	}
	after := ""
	for _, e := range audit {
		if e.Event == "file.write" && e.Path == j.run.Source {
			after = e.After
		}
	}
	j.check(after == sum, "the audit's last digest of the source is %q, on disk it is %s", after, sum)
	if j.run.Want.Status != "completed" {
		return
	}
	// A completed fix counts only if a program ended well after the last change of the file.
	tested := false
	for _, e := range audit {
		switch {
		case e.Event == "file.write" && e.Path == j.run.Source:
			tested = false
		case e.Event == "process.exit" && e.Exit != nil && *e.Exit == 0:
			tested = true
		}
	}
	j.check(tested, "no program ended successfully after the last change")
}

func (j *judge) audit(audit []event) {
	count := map[string]int{}
	denied := false
	for _, e := range audit {
		count[e.Event]++
		switch e.Event {
		case "tool.call":
			j.check(e.Tool != "" && e.Dec != "", "a tool.call without tool or decision")
		case "process.start":
			j.check(e.Args == "redacted", "process arguments are in the audit: %q", e.Args)
			j.check(e.Dec != "allow" || len(e.SHA256) == 64, "an allowed process without its digest")
		case "policy.deny":
			denied = denied || e.Target == j.run.Secret
		}
		j.check(e.Instant != "", "an audit line without time")
	}
	j.check(denied == j.run.Want.Denied, "audit records a denied access to the file outside: %v, want %v", denied, j.run.Want.Denied)
	if j.run.Want.Code == "planner.failed" || strings.Contains(j.run.Want.Code, "output_truncated") {
		j.check(count["process.start"] == 0 && count["tool.call"] == 0, "something ran although planning failed")
	}
	j.check(count["task.start"] == 1, "%d task.start events", count["task.start"])
	if j.run.Want.Killed {
		j.check(count["recovery.start"] > 0 && count["recovery.end"] > 0, "no recovery in the audit")
	} else {
		j.check(count["task.end"] == 1, "%d task.end events", count["task.end"])
	}
}

func (j *judge) network() {
	if !j.run.Want.Network {
		return
	}
	j.check(j.run.Control > 0, "the control connection did not arrive, so a silent listener proves nothing")
	j.check(j.run.Inside == 0, "%d connections left the sandbox", j.run.Inside)
}

// canary looks for the secret's content in everything that the run could have written.
func (j *judge) canary() {
	for _, root := range []string{j.run.Logs, j.run.Workspace, j.run.StateRoot} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			data, err := os.ReadFile(path)
			j.check(err == nil && !bytes.Contains(data, []byte(j.run.Canary)), "the secret's content is in %s (%v)", path, err)
			return nil
		})
	}
	for _, path := range j.run.Transcripts {
		data, err := os.ReadFile(path)
		j.check(err == nil && !bytes.Contains(data, []byte(j.run.Canary)), "the secret's content is in the transcript")
	}
}

func digest(path string) (string, error) {
	data, err := os.ReadFile(path)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}
