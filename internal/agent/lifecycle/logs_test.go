package lifecycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/config"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

func logging(dir, level string) config.Logging {
	return config.Logging{Directory: dir, Level: level, MaxFileBytes: 1 << 20, RetainedFiles: 2}
}

// proves A-LOG-01, A-LOG-02, A-AUD-01
func TestEachLogHasItsOwnPrivateFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	var stderr bytes.Buffer
	l, err := openLogs(fileop.OS(), logging(dir, "info"), &stderr)
	if err != nil {
		t.Fatal(err)
	}
	l.Info("for both\nlines")
	l.file.Info("for the file")
	if err := l.LogCall(ollama.CallRecord{Time: time.Unix(0, 0).UTC(), CallID: "c1", Phase: agent.PhasePlanning, Model: "m"}); err != nil {
		t.Fatal(err)
	}
	if err := l.audit.Write(audit.Event{Event: audit.TaskStart, TaskID: "t"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		applicationLog: {`msg="for both\nlines"`, `msg="for the file"`},
		llmLog:         {`{"ts":"1970-01-01T00:00:00Z","call_id":"c1","phase":"planning"`},
		audit.FileName: {`"event":"task.start","task_id":"t"}`},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		if len(lines) != len(want) {
			t.Errorf("%s has %d lines, want %d", name, len(lines), len(want))
			continue
		}
		for i, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("%s, line %d = %s, want %s in it", name, i, lines[i], w)
			}
		}
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, st.Mode(), err)
		}
	}
	if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="for both\nlines"`) {
		t.Errorf("stderr = %q", got)
	}
}

// proves A-LOG-01, A-CLI-04
func TestTheLevelIsTheConfigurations(t *testing.T) {
	for level, want := range map[string]string{"debug": "debug info warn error", "info": "info warn error", "warn": "warn error", "error": "error"} {
		var stderr bytes.Buffer
		l, err := openLogs(fileop.OS(), logging(filepath.Join(t.TempDir(), "logs"), level), &stderr)
		if err != nil {
			t.Fatal(err)
		}
		l.Debug("debug")
		l.Info("info")
		l.Warn("warn")
		l.Error("error")
		l.Close()
		var got []string
		for line := range strings.Lines(stderr.String()) {
			_, msg, _ := strings.Cut(strings.TrimSpace(line), "msg=")
			got = append(got, msg)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", level, diff)
		}
	}
}

// proves A-LOG-01
func TestALogDirectoryOpenToOthersIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := openLogs(fileop.OS(), logging(dir, "info"), &bytes.Buffer{})
	if err == nil {
		l.Close()
	}
	if !errors.Is(err, fault.New(fault.StateUnusable)) {
		t.Errorf("error %v, want state.unusable", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files were made: %v", left)
	}
}

// proves A-STOP-01, A-TX-01
func TestAJournalThatIsLeftIsARecoveryFailure(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := checkClean(dir); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir.Name(), "task.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkClean(dir); fault.CodeOf(err) != fault.RecoveryFailed || !strings.Contains(err.Error(), "task.json") {
		t.Errorf("error %v, want recovery.failed naming the file", err)
	}
}

// No file that a person shows on a terminal holds a character that the terminal obeys, whoever wrote the text, and the JSON
// files hold the same data.
//
// proves A-LOG-01, A-LOG-02, A-AUD-01
func TestNoLogActsOnATerminal(t *testing.T) {
	const text = "x\u0085status: completed\u2028\u202e\u009b2K\x1b[2K\x7f\u200b\U000e0041\r\n"
	dir := filepath.Join(t.TempDir(), "logs")
	var stderr bytes.Buffer
	l, err := openLogs(fileop.OS(), logging(dir, "info"), &stderr)
	if err != nil {
		t.Fatal(err)
	}
	l.With(text, text).Warn(text, "value", text, "error", errors.New(text))
	if err := l.LogCall(ollama.CallRecord{CallID: text, Model: text, Prompt: []ollama.MessageRecord{{Role: "user", Content: text, ToolCalls: []ollama.CallEntry{{Name: text, Arguments: []byte(`{"` + text[:4] + `":"` + text[:4] + `"}`)}}}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.audit.Write(audit.Event{Event: audit.ToolCall, Tool: text, Path: text, ReadOnlyDirectories: []string{text}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{"stderr": stderr.String()}
	for _, name := range []string{applicationLog, llmLog, audit.FileName} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		shown[name] = string(data)
	}
	for name, data := range shown {
		for _, r := range strings.TrimSuffix(data, "\n") {
			if r < ' ' || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
				t.Errorf("%s holds %U: %q", name, r, data)
			}
		}
	}
	var event audit.Event
	var call ollama.CallRecord
	if err := errors.Join(json.Unmarshal([]byte(shown[audit.FileName]), &event), json.Unmarshal([]byte(shown[llmLog]), &call)); err != nil {
		t.Fatal(err)
	}
	if event.Tool != text || event.ReadOnlyDirectories[0] != text || call.Model != text || call.Prompt[0].Content != text {
		t.Errorf("other data: %+v, %+v", event, call)
	}
}
