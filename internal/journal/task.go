package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sekisho/internal/fileop"
)

// SchemaVersion is the version of Record.
const SchemaVersion = 1

// State of a task's resources (A-TX-01). The state Clean is never on disk: no file means clean.
type State string

// The states of A-TX-01.
const (
	Clean            State = "CLEAN"
	Preparing        State = "PREPARING"
	Applied          State = "APPLIED"
	Running          State = "RUNNING"
	Cleaning         State = "CLEANING"
	RecoveryRequired State = "RECOVERY_REQUIRED"
)

// next lists the legal transitions between states on disk. Cleaning straight from Preparing or Applied is the undo of a
// step that failed without a crash (A-TX-05).
var next = map[State][]State{
	Preparing:        {Applied, Cleaning, RecoveryRequired},
	Applied:          {Running, Cleaning, RecoveryRequired},
	Running:          {Cleaning, RecoveryRequired},
	Cleaning:         {RecoveryRequired},
	RecoveryRequired: {Cleaning},
}

// Record is the TaskResourceJournal: the table of A-TX-01.
type Record struct {
	SchemaVersion int       `json:"schema_version"`
	TaskID        string    `json:"task_id"`
	CreatedAt     time.Time `json:"created_at"`
	State         State     `json:"state"`
	// Sandbox is the name in the names of the task's resources when it is not the task's id: a spare's, which the task took.
	Sandbox string `json:"sandbox,omitempty"`
	// ACLChanges and NetworkRuleIDs are empty on Linux.
	ACLChanges     []ACLChange `json:"acl_changes"`
	NetworkRuleIDs []string    `json:"network_rule_ids"`
	// TempPaths are absolute paths of files and directories to remove.
	TempPaths []string `json:"temp_paths"`
	// Steps are in the order of application.
	Steps []Step `json:"steps"`
}

// ACLChange is one changed access control list of a root.
type ACLChange struct {
	Path               string `json:"path"`
	ChangeID           string `json:"change_id"`
	OriginalDescriptor string `json:"original_descriptor"`
}

// Step is one effect with its undo data, both in the backend's own schema.
type Step struct {
	Step    json.RawMessage `json:"step"`
	Undo    json.RawMessage `json:"undo"`
	Applied bool            `json:"applied"`
}

// Store keeps the records of task resources, "<task id>.json".
type Store = Records[Record]

// Entry is one task's record.
type Entry = RecordEntry[Record]

// Open returns the store of task resources in dir.
func Open(fsys fileop.FS, dir *os.File) *Store {
	return OpenRecords(fsys, dir, ".json", CheckRecord)
}

// CreateTask writes the first record of a task: PREPARING, with the steps that will be applied, none of them yet.
func CreateTask(s *Store, task string, now time.Time, tempPaths []string, steps ...Step) (*Entry, error) {
	return s.Create(task, Record{SchemaVersion: SchemaVersion, TaskID: task, CreatedAt: now.UTC(), State: Preparing, TempPaths: tempPaths, Steps: steps})
}

// AdoptTask writes the first record of a task that took the applied resources of a spare over: RUNNING, because nothing is left
// to be applied.
func AdoptTask(s *Store, task, spare string, now time.Time, tempPaths []string, steps ...Step) (*Entry, error) {
	return s.Create(task, Record{SchemaVersion: SchemaVersion, TaskID: task, CreatedAt: now.UTC(), State: Running, Sandbox: spare, TempPaths: tempPaths, Steps: steps})
}

// CheckRecord refuses a record that no version of this program writes and, when old is given, a change that A-TX-01
// does not allow: another task, an illegal transition, or a step that was forgotten.
func CheckRecord(old, r *Record) error {
	switch {
	case r.SchemaVersion != SchemaVersion:
		return fmt.Errorf("schema_version %d is not %d", r.SchemaVersion, SchemaVersion)
	case !validKey(r.TaskID):
		return fmt.Errorf("task_id %q is malformed", r.TaskID)
	case r.Sandbox != "" && !validKey(r.Sandbox):
		return fmt.Errorf("sandbox %q is malformed", r.Sandbox)
	case r.CreatedAt.IsZero():
		return errors.New("created_at is missing")
	case next[r.State] == nil:
		return fmt.Errorf("state %q is unknown", r.State)
	}
	for _, p := range r.TempPaths {
		if !filepath.IsAbs(p) || filepath.Clean(p) != p {
			return fmt.Errorf("temp path %q is not absolute and clean", p)
		}
	}
	for i, s := range r.Steps {
		if !object(s.Step) || !object(s.Undo) {
			return fmt.Errorf("step %d lacks its effect or its undo data", i)
		}
	}
	if old == nil {
		return nil
	}
	switch {
	case r.TaskID != old.TaskID || r.Sandbox != old.Sandbox || !r.CreatedAt.Equal(old.CreatedAt):
		return errors.New("a record cannot change its task")
	case r.State != old.State && !slices.Contains(next[old.State], r.State):
		return fmt.Errorf("transition %s -> %s is not allowed", old.State, r.State)
	case len(r.Steps) < len(old.Steps) || len(r.TempPaths) < len(old.TempPaths):
		return errors.New("a journalled effect cannot be forgotten")
	}
	return nil
}

func object(m json.RawMessage) bool { return len(m) > 1 && m[0] == '{' }
