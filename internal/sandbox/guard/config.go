package guard

import (
	"os"
	"path"
	"strings"

	"sekisho/internal/sandbox/policy"
)

// leads lists what an existing git configuration makes git read or run: core.hooksPath, included files, and programs that are
// regular files. The file is the user's own, so it is read leniently: a line too much only protects more.
func leads(file string, text []byte) []pending {
	dir := path.Dir(file)
	tree := dir
	if path.Base(dir) == ".git" {
		tree = path.Dir(dir)
	}
	var out []pending
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if head, rest, ok := strings.Cut(line, "]"); ok && strings.HasPrefix(line, "[") {
			section, line = strings.ToLower(strings.Trim(head, "[ ")), strings.TrimSpace(rest)
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.Trim(strings.TrimSpace(value), `"`)
		switch {
		case value == "" || strings.HasPrefix(value, "~"):
		case key == "hookspath":
			out = append(out, pending{from: tree, to: value, place: policy.ToolConfig})
		case key == "path" && strings.HasPrefix(section, "include"):
			out = append(out, pending{from: dir, to: value, place: policy.ToolConfig})
		default:
			for _, word := range strings.Fields(strings.TrimLeft(value, "!")) {
				word = strings.Trim(word, `"'`)
				at := word
				if !path.IsAbs(at) {
					at = path.Join(tree, at)
				}
				if st, err := os.Stat(at); strings.Contains(word, "/") && err == nil && st.Mode().IsRegular() {
					out = append(out, pending{from: tree, to: word, place: policy.ToolConfig})
				}
			}
		}
	}
	return out
}
