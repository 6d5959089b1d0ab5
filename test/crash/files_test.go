//go:build linux && !cgo

package crash

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// content of n bytes that shows where it was cut.
func content(seed string, n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s line %d\n", seed, i)
	}
	return b.Bytes()
}

// edit is one change of the script with the user's files before and after it; nil means absent.
type edit struct {
	tool, arguments string
	before, after   map[string][]byte
}

var (
	oldText = content("old", 3000)
	newText = content("new", 5000)
	bigText = content("big", 1<<20+5000) // above the memory limit of 1 MiB: its old bytes go to a task file
)

// edits is what the scripted task does, in order. WORKSPACE stands for the workspace.
var edits = []edit{
	{"file_edit", fileEdit("overwrite", "a.txt", string(newText), "", ""), one("a.txt", oldText), one("a.txt", newText)},
	{"file_edit", fileEdit("overwrite", "created.txt", string(newText), "", ""), nil, one("created.txt", newText)},
	{"file_edit", fileEdit("patch", "big.txt", "", `{"old_text":"big line 7\n","new_text":"patched line\n"}`, ""), one("big.txt", bigText),
		one("big.txt", bytes.Replace(bigText, []byte("big line 7\n"), []byte("patched line\n"), 1))},
	{"file_edit", fileEdit("rename", "b.txt", "", "", "renamed.txt"), one("b.txt", oldText), one("renamed.txt", oldText)},
	{"file_edit", fileEdit("delete", "c.txt", "", "", ""), one("c.txt", oldText), nil},
	{"dir", `{"path":"WORKSPACE/made/deep","operation":"mkdir"}`, nil, map[string][]byte{"made/": nil, "made/deep/": nil}},
	{"dir", `{"path":"WORKSPACE/empty","operation":"rmdir"}`, map[string][]byte{"empty/": nil}, nil},
	{"process_run", `{"executable":"sh","args":["-c","printf done > WORKSPACE/by-process.txt"],"cwd":"WORKSPACE","timeout_seconds":60,"stdin":null}`,
		nil, one("by-process.txt", []byte("done"))},
}

func one(name string, data []byte) map[string][]byte { return map[string][]byte{name: data} }

func fileEdit(operation, path, content, patch, newPath string) string {
	null := func(s string) string {
		if s == "" {
			return "null"
		}
		return quote(s)
	}
	if newPath != "" {
		newPath = "WORKSPACE/" + newPath
	}
	return fmt.Sprintf(`{"path":"WORKSPACE/%s","operation":%q,"content":%s,"patch":%s,"expected_sha256":null,"new_path":%s}`,
		path, operation, null(content), null(patch), null(newPath))
}

// populate makes the workspace as it is before the task, with modes that nothing may change.
func populate(dir string) error {
	for _, e := range edits {
		for name, data := range e.before {
			path := filepath.Join(dir, name)
			if strings.HasSuffix(name, "/") {
				if err := os.Mkdir(path, 0o750); err != nil {
					return err
				}
				continue
			}
			if err := os.WriteFile(path, data, 0o640); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "bystander.txt"), oldText, 0o604)
}

// judgeFiles requires every change to be undone or complete, and nothing else to have happened.
func judgeFiles(dir string) error {
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := path[len(dir)+1:]
		if d.IsDir() {
			found[name+"/"] = nil
			return nil
		}
		data, err := os.ReadFile(path)
		found[name] = data
		return err
	})
	if err != nil {
		return err
	}
	if string(found["bystander.txt"]) != string(oldText) {
		return fmt.Errorf("bystander.txt changed")
	}
	delete(found, "bystander.txt")
	for i, e := range edits {
		if !holds(found, e.before, e.after) && !holds(found, e.after, e.before) {
			// The program of process_run writes as it likes: an empty file is its own doing.
			if e.tool == "process_run" && len(found["by-process.txt"]) < len("done") {
				delete(found, "by-process.txt")
				continue
			}
			return fmt.Errorf("change %d (%s) is neither undone nor complete: %s", i, e.tool, describe(found))
		}
		for _, m := range []map[string][]byte{e.before, e.after} {
			for name := range m {
				delete(found, name)
			}
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("left in the workspace: %s", describe(found))
	}
	return judgeModes(dir)
}

// holds reports whether all of want is there and nothing of the names that only unwanted has.
func holds(found, want, unwanted map[string][]byte) bool {
	for name, data := range want {
		got, ok := found[name]
		if !ok || !bytes.Equal(got, data) {
			return false
		}
	}
	for name := range unwanted {
		if _, wanted := want[name]; wanted {
			continue
		}
		if _, there := found[name]; there {
			return false
		}
	}
	return true
}

func judgeModes(dir string) error {
	for name, mode := range map[string]fs.FileMode{"a.txt": 0o640, "big.txt": 0o640, "b.txt": 0o640, "renamed.txt": 0o640, "c.txt": 0o640, "bystander.txt": 0o604, "empty": 0o750} {
		st, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && st.Mode().Perm() != mode {
			return fmt.Errorf("%s has mode %#o, had %#o", name, st.Mode().Perm(), mode)
		}
	}
	return nil
}

func describe(found map[string][]byte) string {
	var b strings.Builder
	for name, data := range found {
		fmt.Fprintf(&b, "%s (%d bytes) ", name, len(data))
	}
	return b.String()
}
