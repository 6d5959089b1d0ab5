package journal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sekisho/internal/fileop"
	"sekisho/test/crashfs"
)

const task = "5f3c9a52-58c5-4d0a-93d9-5a0f3d3e7c11"

func openDir(t *testing.T) *os.File {
	t.Helper()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func oneStep() Step {
	return Step{Step: json.RawMessage(`{"mkdir":"a"}`), Undo: json.RawMessage(`{"rmdir":"a"}`)}
}

// proves A-TX-01
func TestRecordSurvivesOnDiskWithTheTablesFields(t *testing.T) {
	dir := openDir(t)
	e, err := CreateTask(Open(fileop.OS(), dir), task, time.Unix(1700000000, 0), []string{"/x/temp"})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Update(func(r *Record) { r.Steps = append(r.Steps, oneStep()) }); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir.Name(), task+".json"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema_version":1,"task_id":"` + task + `","created_at":"2023-11-14T22:13:20Z","state":"PREPARING","acl_changes":[],"network_rule_ids":[],` +
		`"temp_paths":["/x/temp"],"steps":[{"step":{"mkdir":"a"},"undo":{"rmdir":"a"},"applied":false}]}` + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("journal file (-want +got):\n%s", diff)
	}
	st, err := os.Stat(e.Path())
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode = %#o, want 0600", st.Mode().Perm())
	}
	entries, err := Open(fileop.OS(), dir).List()
	if err != nil || len(entries) != 1 {
		t.Fatalf("List = %v, %v; want one entry", entries, err)
	}
	if diff := cmp.Diff(e.Record(), entries[0].Record(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	if err := entries[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if err := entries[0].Remove(); err != nil {
		t.Errorf("second Remove = %v, want nil", err)
	}
	if entries, err := Open(fileop.OS(), dir).List(); err != nil || len(entries) != 0 {
		t.Errorf("List after Remove = %v, %v; want none", entries, err)
	}
}

// proves A-TX-01
func TestOnlyLegalTransitions(t *testing.T) {
	states := []State{Clean, Preparing, Applied, Running, Cleaning, RecoveryRequired}
	legal := map[State]string{
		Preparing:        "APPLIED CLEANING RECOVERY_REQUIRED PREPARING",
		Applied:          "RUNNING CLEANING RECOVERY_REQUIRED APPLIED",
		Running:          "CLEANING RECOVERY_REQUIRED RUNNING",
		Cleaning:         "RECOVERY_REQUIRED CLEANING",
		RecoveryRequired: "CLEANING RECOVERY_REQUIRED",
	}
	record := func(s State) *Record {
		return &Record{SchemaVersion: 1, TaskID: task, CreatedAt: time.Unix(1, 0), State: s}
	}
	for from, allowed := range legal {
		for _, to := range states {
			want := strings.Contains(" "+allowed+" ", " "+string(to)+" ")
			if err := CheckRecord(record(from), record(to)); (err == nil) != want {
				t.Errorf("%s -> %s: error %v, want allowed %v", from, to, err, want)
			}
		}
	}
}

// proves A-TX-01
func TestUpdateRefusesToForgetAndKeepsTheOldRecord(t *testing.T) {
	e, err := CreateTask(Open(fileop.OS(), openDir(t)), task, time.Unix(1, 0), []string{"/x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Update(func(r *Record) { r.Steps = append(r.Steps, oneStep()) }); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Record){
		"a step":       func(r *Record) { r.Steps = nil },
		"a temp path":  func(r *Record) { r.TempPaths = nil },
		"its task":     func(r *Record) { r.TaskID = "other" },
		"its version":  func(r *Record) { r.SchemaVersion = 2 },
		"its undo":     func(r *Record) { r.Steps[0].Undo = nil },
		"illegal move": func(r *Record) { r.State = Running },
	} {
		if err := e.Update(change); err == nil {
			t.Fatalf("forgetting %s was accepted", name) // what follows is about a record that has it
		}
	}
	if got := e.Record(); got.State != Preparing || len(got.Steps) != 1 || string(got.Steps[0].Undo) != `{"rmdir":"a"}` {
		t.Errorf("record changed by refused updates: %+v", got)
	}
}

// proves A-TX-01, A-TX-04
func TestUpdateIsOldOrNewAtEveryCrashPoint(t *testing.T) {
	for k := 1; ; k++ {
		dir := openDir(t)
		if _, err := CreateTask(Open(fileop.OS(), dir), task, time.Unix(1, 0), nil); err != nil {
			t.Fatal(err)
		}
		fsys := crashfs.New(fileop.OS(), k, nil, crashfs.Torn(nil))
		entries, err := Open(fsys, dir).List()
		if err != nil {
			t.Fatal(err)
		}
		err = entries[0].Update(func(r *Record) { r.State = Applied })
		if !fsys.Stopped() {
			if err != nil {
				t.Fatalf("undisturbed update: %v", err)
			}
			if k < 6 {
				t.Fatalf("only %d durable calls; create, write, sync, rename and the directory's sync are expected", k-1)
			}
			return
		}
		if !errors.Is(err, crashfs.ErrStopped) {
			t.Errorf("k=%d: Update = %v, want the stop", k, err)
		}
		after := Open(fileop.OS(), dir)
		if err := after.Sweep(); err != nil {
			t.Fatal(err)
		}
		entries, err = after.List()
		if err != nil || len(entries) != 1 {
			t.Fatalf("k=%d: List = %v, %v", k, entries, err)
		}
		if s := entries[0].Record().State; s != Preparing && s != Applied {
			t.Errorf("k=%d: state %q is neither old nor new", k, s)
		}
		if left, _ := os.ReadDir(dir.Name()); len(left) != 1 {
			t.Errorf("k=%d: leftovers %v", k, left)
		}
	}
}

// proves A-TX-01
func TestListNamesTheCorruptFile(t *testing.T) {
	good := `{"schema_version":1,"task_id":"a","created_at":"2023-11-14T22:13:20Z","state":"RUNNING","acl_changes":[],"network_rule_ids":[],"temp_paths":[],"steps":[]}`
	for name, data := range map[string]string{
		"empty":          "",
		"torn":           good[:len(good)/2],
		"unknown member": strings.Replace(good, `"steps"`, `"stepz"`, 1),
		"duplicate":      strings.Replace(good, `"steps":[]`, `"state":"RUNNING","steps":[]`, 1),
		"other case":     strings.Replace(good, `"state"`, `"State"`, 1),
		"two values":     good + good,
		"version":        strings.Replace(good, `:1,`, `:2,`, 1),
		"clean state":    strings.Replace(good, "RUNNING", "CLEAN", 1),
		"relative path":  strings.Replace(good, `"temp_paths":[]`, `"temp_paths":["../x"]`, 1),
		"unclean path":   strings.Replace(good, `"temp_paths":[]`, `"temp_paths":["/a/../x"]`, 1),
		"no task":        strings.Replace(good, `"task_id":"a"`, `"task_id":""`, 1),
		"oversized":      good + strings.Repeat(" ", MaxBytes),
	} {
		dir := openDir(t)
		path := filepath.Join(dir.Name(), "a.json")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(fileop.OS(), dir).List()
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || corrupt.Path != path {
			t.Errorf("%s: List error = %v, want a CorruptError naming %s", name, err, path)
		}
		if got, _ := os.ReadFile(path); string(got) != data {
			t.Errorf("%s: the corrupt file was touched", name)
		}
	}
}

// proves A-TX-01
func TestListRefusesALinkUnderAJournalsName(t *testing.T) {
	dir := openDir(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir.Name(), "a.json")); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	if _, err := Open(fileop.OS(), dir).List(); !errors.As(err, &corrupt) {
		t.Errorf("List error = %v, want a CorruptError", err)
	}
}

// proves A-TX-01
func TestStoresShareADirectoryBySuffix(t *testing.T) {
	type fileRecord struct {
		Note string `json:"note"`
	}
	dir := openDir(t)
	files := OpenRecords(fileop.OS(), dir, ".files.json", func(old, new *fileRecord) error { return nil })
	tasks := Open(fileop.OS(), dir)
	if _, err := files.Create(task, fileRecord{Note: "n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateTask(tasks, task, time.Unix(1, 0), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateTask(tasks, task, time.Unix(1, 0), nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("second journal of one task: error %v, want fs.ErrExist", err)
	}
	a, err := files.List()
	if err != nil || len(a) != 1 || a[0].Key() != task || a[0].Record().Note != "n" {
		t.Errorf("file records = %v, %v", a, err)
	}
	b, err := tasks.List()
	if err != nil || len(b) != 1 || b[0].Key() != task {
		t.Errorf("task records = %v, %v", b, err)
	}
	for _, key := range []string{"", "a/b", "..", "a.b", strings.Repeat("a", 65)} {
		if _, err := files.Create(key, fileRecord{}); err == nil {
			t.Errorf("key %q was accepted", key)
		}
	}
}

// proves A-TX-01
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"task_id":"a","created_at":"2023-11-14T22:13:20Z","state":"RUNNING","acl_changes":[],"network_rule_ids":[],"temp_paths":["/t"],"steps":[{"step":{},"undo":{},"applied":true}]}`))
	f.Add([]byte(`{}`))
	f.Add([]byte("\x00[[[["))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data, CheckRecord)
		if err != nil {
			return
		}
		c, err := clone(r)
		if err != nil {
			t.Fatalf("an accepted record does not encode: %v", err)
		}
		if diff := cmp.Diff(r, c, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("round trip (-read +again):\n%s", diff)
		}
	})
}

// A record that is removed while others are listed is none; it makes no list fail.
//
// proves A-TX-01
func TestListWhileRecordsGo(t *testing.T) {
	dir := openDir(t)
	store := Open(fileop.OS(), dir)
	stay, err := CreateTask(store, task, time.Unix(1700000000, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for range 200 {
			e, err := CreateTask(store, "spare-0123456789abcdef", time.Unix(1700000000, 0), nil)
			if err == nil {
				err = e.Remove()
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for lists := 0; ; lists++ {
		entries, err := store.List()
		if err != nil || len(entries) == 0 || entries[0].Key() != stay.Key() {
			t.Fatalf("list %d: %v, %v", lists, entries, err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}
