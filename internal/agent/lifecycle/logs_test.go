package lifecycle

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
