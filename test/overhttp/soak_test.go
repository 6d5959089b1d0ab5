//go:build linux && !cgo

package overhttp

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sekisho/test/agentsite"
)

// usage is what a process holds.
type usage struct {
	descriptors, threads int
	residentKiB          int
}

func usageOf(v *agentsite.Running) usage {
	v.T.Helper()
	dir := fmt.Sprintf("/proc/%d/", v.Cmd.Process.Pid)
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		v.T.Fatal(err)
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		v.T.Fatal(err)
	}
	u := usage{descriptors: len(fds)}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
		switch name {
		case "Threads":
			u.threads = n
		case "VmRSS":
			u.residentKiB = n
		}
	}
	return u
}

// Ten thousand calls (make http-soak; fewer otherwise) on kept and on new connections, good and bad, also of clients that leave
// in the middle: afterwards the process holds what it held after the first tenth.
//
// proves A-MCP-05
// mcp report 10
func TestSoakLeavesNothing(t *testing.T) {
	calls := 600
	if os.Getenv("SEKISHO_SOAK") != "" {
		calls = 10_000
	}
	s := newSite(t, agentsite.Idle, agentsite.Workspace)
	s.Env = append(s.Env, "GOMAXPROCS=2") // with more processors the collector goes on making threads, and keeps more
	v := s.Start()
	kept := s.http()
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	modern := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}
	run := func(n int) {
		var clients sync.WaitGroup
		for worker := range 8 {
			clients.Go(func() {
				for i := range n / 8 {
					c := kept
					if i%3 == 0 {
						c = fresh
					}
					switch i % 5 {
					case 0:
						s.post(c, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, modern...)
					case 1:
						s.post(c, `{"jsonrpc":"2.0","id":`+strconv.Itoa(worker)+`,"method":"ping"}`)
					case 2:
						s.post(c, "garbage")
					case 3:
						s.post(c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_status","arguments":{"task_id":"123e4567-e89b-42d3-a456-426614174000"}}}`)
					case 4: // a client that leaves in the middle of its body
						r, w := io.Pipe()
						req, err := http.NewRequest("POST", s.url(), r)
						if err != nil {
							t.Error(err)
							return
						}
						req.Header.Set("Content-Type", "application/json")
						go func() { io.WriteString(w, "{"); w.CloseWithError(io.ErrUnexpectedEOF) }()
						if resp, err := fresh.Do(req); err == nil {
							resp.Body.Close()
						}
					}
				}
			})
		}
		clients.Wait()
		kept.CloseIdleConnections()
	}
	begun := usageOf(v)
	same := 0
	agentsite.Poll(t, "the spare sandbox", func() bool { // it comes some seconds after the start, and stays
		journals, err := filepath.Glob(filepath.Join(s.StateRoot(), "instances", "*", "recovery", "spare-*.json"))
		u := usageOf(v)
		if same++; err != nil || len(journals) != 1 || u.descriptors != begun.descriptors {
			same, begun = 0, u
		}
		return same >= 50
	})
	settle := func() usage {
		var u usage
		agentsite.Poll(t, "the end of the connections", func() bool {
			u = usageOf(v)
			return u.descriptors <= begun.descriptors
		})
		return u
	}
	run(max(calls/10, 1000)) // until the collector has found its pace
	before := settle()
	run(calls * 9 / 10)
	after := settle()
	t.Logf("%d calls: before %+v, after %+v", calls, before, after)
	// The collector keeps some memory; a leak of 1 KiB for each call would be 9 MiB more in the long run. In a short one it is
	// chance how far it has got, and only what 64 KiB for each call would be is seen.
	slack := 8 << 10
	if calls < 10_000 {
		slack = 32 << 10
	}
	if after.descriptors > before.descriptors || after.threads > before.threads+8 || after.residentKiB > before.residentKiB+slack {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if code := v.StopBy(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, v.Log.String())
	}
}
