package taskstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"sekisho/internal/fileop"
)

// Whatever lies where a record is expected: it is no record, tells nothing, and the next start removes it.
//
// proves A-MCP-12
func TestHostileFiles(t *testing.T) {
	w := newWorld(t)
	a := w.server(fileop.OS())
	good := w.create(a)
	if err := a.Finish(good, completed("mine")); err != nil {
		t.Fatal(err)
	}
	dir := a.instance.TreePath(Dir)
	data, err := os.ReadFile(filepath.Join(dir, good+".json"))
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, data, 0o600); err != nil {
		t.Fatal(err)
	}
	// with makes a record of another id, valid but for one change; without a change it is the control.
	with := func(change func(string) string) (string, func(string) error) {
		id := uuid.NewString()
		return id, func(path string) error {
			return os.WriteFile(path, []byte(change(strings.Replace(string(data), good, id, 1))), 0o600)
		}
	}
	replace := func(old, new string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("nothing to replace: %s in %s", old, s)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	control, write := with(func(s string) string { return s })
	if err := write(filepath.Join(dir, control+".json")); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for name, change := range map[string]func(string) string{
		"empty":             func(string) string { return "" },
		"cut":               func(s string) string { return s[:len(s)/2] },
		"two values":        func(s string) string { return s + s },
		"unknown member":    replace(`{"schema`, `{"x":1,"schema`),
		"member twice":      replace(`{"schema`, `{"status":"completed","schema`),
		"other case":        replace(`"status"`, `"Status"`),
		"other version":     replace(`"schema_version":1`, `"schema_version":2`),
		"other instance":    replace(a.instance.ID(), "00112233445566ff"),
		"other task":        func(s string) string { return string(data) },
		"unknown status":    replace(`"completed"`, `"done"`),
		"no result":         replace(`"completed"`, `"cancelled"`),
		"error and result":  replace(`"result"`, `"error":{"code":1,"message":""},"result"`),
		"no time to live":   replace(`"ttl_ms":3600000,`, ``),
		"endless":           replace(`"ttl_ms":3600000`, `"ttl_ms":9223372036854775807`),
		"from the future":   replace(`"created_at":"2026`, `"created_at":"2999`),
		"no time":           replace(`"created_at":"2026-08-01T12:00:00Z"`, `"created_at":"0001-01-01T00:00:00Z"`),
		"huge poll":         replace(`"poll_interval_ms":1000`, `"poll_interval_ms":999999999999`),
		"invalid UTF-8":     replace(`mine`, "m\xffne"),
		"deep":              replace(`"mine"`, strings.Repeat("[", 5000)+strings.Repeat("]", 5000)),
		"over the limit":    replace(`mine`, strings.Repeat("x", recordLimit)),
		"result over limit": replace(`mine`, strings.Repeat("x", ResultLimit+1)),
	} {
		id, write := with(change)
		if err := write(filepath.Join(dir, id+".json")); err != nil {
			t.Fatal(err)
		}
		ids[name] = id
	}
	for name, make := range map[string]func(string) error{
		"link":      func(p string) error { return os.Symlink(secret, p) },
		"directory": func(p string) error { return os.MkdirAll(filepath.Join(p, "deep", "er"), 0o700) },
	} {
		id := uuid.NewString()
		if err := make(filepath.Join(dir, id+".json")); err != nil {
			t.Fatal(err)
		}
		ids[name] = id
	}
	for _, name := range []string{"note.txt", "x.json", strings.ToUpper(uuid.NewString()) + ".json", ".hidden.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.end()
	b := w.server(fileop.OS())
	if r := w.get(b, control); r.Result.Text != "mine" {
		t.Errorf("the control: %+v", r)
	}
	ids["path"], ids["upper case"], ids["braces"], ids["nothing"] = "../"+good, strings.ToUpper(good), "{"+good+"}", ""
	for name, id := range ids {
		if r, err := b.Get(t.Context(), id); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
	if _, err := w.recover(fileop.OS()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%d files are left, want the two good ones: %v", len(left), err)
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error("the target of the link is gone:", err)
	}
	w.get(b, good)
}

// A directory of records that is a link leads nowhere.
//
// proves A-MCP-12
func TestALinkForTheDirectory(t *testing.T) {
	w := newWorld(t)
	a := w.server(fileop.OS())
	id := w.create(a)
	if err := a.Finish(id, completed("x")); err != nil {
		t.Fatal(err)
	}
	a.end()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.Rename(a.instance.TreePath(Dir), elsewhere), os.Symlink(elsewhere, a.instance.TreePath(Dir))); err != nil {
		t.Fatal(err)
	}
	b := w.server(fileop.OS())
	if r, err := b.Get(t.Context(), id); !errors.Is(err, ErrUnknown) {
		t.Errorf("read through a link: %+v %v", r, err)
	}
	if report, err := w.recover(fileop.OS()); err != nil || report != (Report{Refused: 1}) {
		t.Errorf("recovery: %+v %v", report, err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, id+".json")); err != nil {
		t.Error("what the link named is gone:", err)
	}
}

// proves A-MCP-12
func FuzzDecode(f *testing.F) {
	r := Record{SchemaVersion: 1, Instance: "00112233445566ff", TaskID: "5f3c9a52-58c5-4d0a-93d9-5a0f3d3e7c11", Status: Working, StatusMessage: "m",
		CreatedAt: time.Unix(1, 0).UTC(), UpdatedAt: time.Unix(2, 0).UTC(), TTLMs: 1, PollIntervalMs: 1}
	for _, o := range []Outcome{{}, completed("x\n\u2028"), {Status: Cancelled}, {Status: Failed, Error: &Error{-1, "e"}}} {
		record := r
		if o.Status != "" {
			record = r.ended(o, time.Unix(3, 0))
		}
		data, err := record.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(data, r.Instance, r.TaskID)
		if err != nil {
			return
		}
		again, err := got.encode()
		if err != nil {
			t.Fatalf("decoded what cannot be encoded: %v %+v", err, got)
		}
		second, err := decode(again, r.Instance, r.TaskID)
		if err != nil {
			t.Fatal(err)
		}
		if a, _ := second.encode(); string(a) != string(again) {
			t.Errorf("%s became %s", again, a)
		}
		got.Expired(time.Unix(0, 0))
	})
}
