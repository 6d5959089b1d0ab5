package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fileop"
	"sekisho/test/crashfs"
)

func openLog(t *testing.T, fsys fileop.FS, path string) *Writer {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	w, err := Open(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func lines(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// proves A-AUD-01
func TestEventsHaveTheTablesMembers(t *testing.T) {
	dir := t.TempDir()
	w := openLog(t, fileop.OS(), dir)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("JST", 9*3600))
	const ts = `{"ts":"2026-01-01T18:04:05Z",`
	events := []struct {
		event Event
		want  string
	}{
		{Event{Event: TaskStart, SessionID: "s", TaskID: "t", Capabilities: []Capability{{Name: "n", Identifier: "i", Origin: "o", Condition: "c"}}, ReadOnlyDirectories: []string{"/w/node_modules"}},
			`"event":"task.start","session_id":"s","task_id":"t","capabilities":[{"name":"n","identifier":"i","origin":"o","condition":"c"}],"read_only_directories":["/w/node_modules"]}`},
		{Event{Event: SandboxOpen, TaskID: "t", Sandbox: FromSpare}, `"event":"sandbox.open","task_id":"t","sandbox":"spare"}`},
		{Event{Event: TaskEnd, TaskID: "t", FinalState: "failed", ErrorCode: "planner.failed"}, `"event":"task.end","task_id":"t","error_code":"planner.failed","final_state":"failed"}`},
		{Event{Event: ToolCall, Tool: "file_read", Decision: Allow, Source: "content"}, `"event":"tool.call","tool":"file_read","decision":"allow","source":"content"}`},
		{Event{Event: ProcessStart, Exe: "/usr/bin/go", Alias: "go", SHA256: "ab", Arguments: "--token=secret", ArgumentCount: Int(0), Decision: Deny},
			`"event":"process.start","decision":"deny","exe":"/usr/bin/go","alias":"go","sha256":"ab","arguments":"redacted","argument_count":0}`},
		{Event{Event: ProcessStart, Exe: "/usr/bin/go", SHA256: "ab", Hash: "unchanged", ArgumentCount: Int(1), Decision: Allow},
			`"event":"process.start","decision":"allow","exe":"/usr/bin/go","sha256":"ab","hash":"unchanged","arguments":"redacted","argument_count":1}`},
		{Event{Event: ProcessExit, Exe: "/usr/bin/go", ExitCode: Int(0)}, `"event":"process.exit","exe":"/usr/bin/go","exit_code":0}`},
		{Event{Event: ProcessExit, Exe: "/usr/bin/go", Limit: "resource.time_limit"}, `"event":"process.exit","exe":"/usr/bin/go","limit":"resource.time_limit"}`},
		{Event{Event: FileWrite, Path: "/w/a", AfterSHA256: "cd"}, `"event":"file.write","path":"/w/a","after_sha256":"cd"}`},
		{Event{Event: FileDelete, Path: "/w/a", BeforeSHA256: "cd"}, `"event":"file.delete","path":"/w/a","before_sha256":"cd"}`},
		{Event{Event: PolicyDeny, Kind: KindFilesystem, Target: "/etc/x", Reason: "not_allowlisted"}, `"event":"policy.deny","kind":"filesystem","target":"/etc/x","reason":"not_allowlisted"}`},
		{Event{Event: NetworkRuleApply, Target: "127.0.0.1", Port: 80, RuleID: "l1"}, `"event":"network.rule.apply","target":"127.0.0.1","port":80,"rule_id":"l1"}`},
		{Event{Event: RecoveryEnd, Undone: []Undone{{Effect: "temp", Target: "/t", Verified: false}}, Verified: Bool(false)},
			`"event":"recovery.end","undone":[{"effect":"temp","target":"/t","verified":false}],"verified":false}`},
	}
	var want []string
	for _, e := range events {
		e.event.Time = at
		if err := w.Write(e.event); err != nil {
			t.Fatalf("%s: %v", e.event.Event, err)
		}
		want = append(want, ts+e.want)
	}
	if diff := cmp.Diff(want, lines(t, dir)); diff != "" {
		t.Errorf("audit lines (-want +got):\n%s", diff)
	}
}

// proves A-AUD-01
func TestHostileTextsStayOneBoundedLine(t *testing.T) {
	dir := t.TempDir()
	w := openLog(t, fileop.OS(), dir)
	hostile := "a\n{\"event\":\"task.end\"}\xff\x00" + strings.Repeat("長", maxText)
	if err := w.Write(Event{Event: ToolCall, Tool: hostile, Undone: []Undone{{Effect: hostile}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(Event{Event: FileWrite, Path: "/w/\xe3\x81"}); err != nil {
		t.Fatalf("a file name that is not UTF-8: %v", err)
	}
	got := lines(t, dir)
	if len(got) != 2 {
		t.Fatalf("%d lines, want 2", len(got))
	}
	for _, l := range got {
		if !json.Valid([]byte(l)) || len(l) > 4*maxText {
			t.Errorf("line of %d bytes, valid JSON %v", len(l), json.Valid([]byte(l)))
		}
	}
	if !strings.Contains(got[1], `"path":"/w/\\xe3\\x81"`) {
		t.Errorf("name with invalid bytes is not shown: %s", got[1])
	}
}

// proves A-AUD-01, A-LOG-01
func TestSeveralServersShareTheFile(t *testing.T) {
	dir := t.TempDir()
	const writers, each = 8, 200
	var wg sync.WaitGroup
	for n := range writers {
		w := openLog(t, fileop.OS(), dir)
		wg.Go(func() {
			for i := range each {
				if err := w.Write(Event{Event: ToolCall, TaskID: fmt.Sprint(n, "-", i), Tool: strings.Repeat("x", i*7)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, l := range lines(t, dir) {
		var e Event
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatalf("torn line %q: %v", l, err)
		}
		seen[e.TaskID] = true
	}
	if len(seen) != writers*each {
		t.Errorf("%d different lines, want %d", len(seen), writers*each)
	}
}

// proves A-AUD-01
func TestOpenRefusesAFileThatOthersCanRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if w, err := Open(fileop.OS(), f); err == nil {
		w.Close()
		t.Error("a world-readable audit log was accepted")
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o644 {
		t.Errorf("mode was changed to %#o", st.Mode().Perm())
	}
}

// proves A-AUD-01, A-TX-04
func TestATornLineNeverSwallowsTheNextOne(t *testing.T) {
	dir := t.TempDir()
	fsys := crashfs.New(fileop.OS(), 3, nil, crashfs.Torn(nil)) // call 1 opens
	w := openLog(t, fsys, dir)
	if err := w.Write(Event{Event: TaskStart, TaskID: "first"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(Event{Event: TaskEnd, TaskID: "torn"}); !errors.Is(err, crashfs.ErrStopped) {
		t.Fatalf("a failed append was not reported: %v", err)
	}
	next := openLog(t, fileop.OS(), dir)
	for _, id := range []string{"second", "third"} {
		if err := next.Write(Event{Event: TaskEnd, TaskID: id}); err != nil {
			t.Fatal(err)
		}
	}
	got := lines(t, dir)
	if len(got) != 4 || json.Valid([]byte(got[1])) || !strings.Contains(got[2], `"second"`) || !strings.Contains(got[3], `"third"`) {
		t.Errorf("lines after a torn one: %q", got)
	}
}
