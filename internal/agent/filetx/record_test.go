package filetx

import (
	"encoding/json"
	"strings"
	"testing"
)

// A record that this program would not have written moves nothing.
//
// proves A-TX-01, A-TX-03
func TestRecordsThatWereNeverWrittenAreRefused(t *testing.T) {
	const good = `{"schema_version":1,"task_id":"t","created_at":"2026-01-01T00:00:00Z","operation":"write","places":[{"path":"/w/a","root":{"path":"/w","rights":15,"origins":[],"id":{"dev":1,"ino":2}},"parent":{"dev":1,"ino":3}}],"after_sha256":"x","temp":"NAME","restore":"NAME"}`
	name := strings.ReplaceAll(good, "NAME", randomName())
	judge := func(text string) error {
		var r record
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		return checkRecord(nil, &r)
	}
	if err := judge(name); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string][2]string{
		"outside its root":         {`"path":"/w/a"`, `"path":"/etc/passwd"`},
		"beside its root":          {`"path":"/w/a"`, `"path":"/wa"`},
		"out of its root":          {`"path":"/w/a"`, `"path":"/w/../etc/passwd"`},
		"the root itself":          {`"path":"/w/a"`, `"path":"/w"`},
		"below everything":         {`"path":"/w","rights"`, `"path":"/","rights"`},
		"a root only read":         {`"rights":15`, `"rights":1`},
		"an unidentified root":     {`{"dev":1,"ino":2}`, `{"dev":0,"ino":0}`},
		"an unidentified parent":   {`{"dev":1,"ino":3}`, `{"dev":0,"ino":0}`},
		"another program's file":   {`"temp":"`, `"temp":"x`},
		"a file of another folder": {`"restore":"`, `"restore":"../`},
		"another schema":           {`"schema_version":1`, `"schema_version":2`},
	} {
		changed := strings.Replace(name, change[0], change[1], 1)
		if changed == name {
			t.Fatalf("%s: nothing was changed", what)
		}
		if err := judge(changed); err == nil {
			t.Errorf("a record of %s was taken", what)
		}
	}
}
