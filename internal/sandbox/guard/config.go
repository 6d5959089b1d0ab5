package guard

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
)

// gitConfig is a configuration that git reads for a git directory: its own, one that this includes, or the user's.
type gitConfig struct {
	file, gitdir string
}

// setting is one line of a configuration.
type setting struct{ section, key, value string }

// settings reads a configuration leniently: it is the user's own, and a line too much only protects more.
func settings(text string) []setting {
	var out []setting
	section := ""
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			end := strings.Index(line, "]")
			if quoted := strings.Index(line, `"]`); quoted >= 0 { // a subsection may have brackets
				end = quoted + 1
			}
			if end < 0 {
				continue
			}
			section, line = strings.ToLower(strings.Trim(line[:end], "[ ")), strings.TrimSpace(line[end+1:])
		}
		key, value, _ := strings.Cut(line, "=")
		if key = strings.ToLower(strings.TrimSpace(key)); key != "" {
			out = append(out, setting{section, key, unquote(strings.TrimSpace(value))})
		}
	}
	return out
}

// unquote takes quotes, escapes and a comment off a value.
func unquote(value string) string {
	var b strings.Builder
	quoted, escaped := false, false
	for _, r := range value {
		switch {
		case escaped:
			escaped = false
			b.WriteRune(r)
		case r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		case !quoted && (r == '#' || r == ';'):
			return strings.TrimSpace(b.String())
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// programs are the keys whose value is a command line that git starts in the working tree.
var programs = []string{"fsmonitor", "clean", "smudge", "process", "textconv", "driver", "command", "external", "editor", "pager", "sshcommand", "askpass", "helper", "cmd", "program"}

// configured evaluates what was found of configurations, which may lead to more of them.
func (s *survey) configured() {
	for ; len(s.configs) > 0; s.configs = s.configs[1:] {
		c := s.configs[0]
		if s.read[c] {
			continue
		}
		s.read[c] = true
		st, err := os.Stat(c.file)
		if err != nil || !st.Mode().IsRegular() || st.Size() > maxGitConfig {
			continue // one that leads nowhere
		}
		text, err := os.ReadFile(c.file)
		if err != nil {
			continue
		}
		lines := settings(string(text))
		for _, l := range lines {
			if l.section == "core" && l.key == "worktree" && l.value != "" {
				s.trees[c.gitdir] = append(s.trees[c.gitdir], absolute(c.gitdir, l.value))
			}
		}
		for _, tree := range s.treesOf(c.gitdir) {
			for _, l := range lines {
				s.leads(c, tree, l)
			}
		}
	}
}

// leads notes what a setting makes git read or run: core.hooksPath, included files, and programs that are regular files.
func (s *survey) leads(c gitConfig, tree string, l setting) {
	value := l.value
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return
		}
		value = path.Join(home, rest)
	}
	switch {
	case value == "" || strings.HasPrefix(value, "~"):
	case l.key == "hookspath":
		s.pending = append(s.pending, pending{from: tree, to: value, place: policy.ToolConfig})
	case l.key == "path" && strings.HasPrefix(l.section, "include"):
		s.pending = append(s.pending, pending{from: path.Dir(c.file), to: value, place: policy.ToolConfig, includedIn: c.gitdir})
	default:
		words := strings.FieldsFunc(strings.TrimLeft(value, "!"), func(r rune) bool { return strings.ContainsRune(" \t'\"`;&|()<>=", r) })
		for i, word := range words {
			if !strings.Contains(word, "/") && (i == 0 || !slices.Contains(programs, l.key)) {
				continue // a name that is looked for in PATH, or anything
			}
			if st, err := os.Stat(absolute(tree, word)); err == nil && st.Mode().IsRegular() {
				s.pending = append(s.pending, pending{from: tree, to: word, place: policy.ToolConfig})
			}
		}
	}
}

// treesOf lists the working trees of a git directory, in which git starts what a configuration names; without one that is the
// git directory itself. A linked one of a repository has the repository's configuration, too.
func (s *survey) treesOf(gitdir string) []string {
	trees := slices.Clone(s.trees[gitdir])
	if path.Base(gitdir) == ".git" {
		trees = append(trees, path.Dir(gitdir))
	}
	linked, _ := filepath.Glob(escapeGlob(gitdir) + "/worktrees/*")
	for _, admin := range append(linked, gitdir) {
		trees = append(trees, s.trees[admin]...)
		if st, err := os.Lstat(admin + "/gitdir"); err != nil || st.Mode().Type() != fs.FileMode(0) || st.Size() > maxPointer {
			continue
		}
		if text, err := os.ReadFile(admin + "/gitdir"); err == nil {
			trees = append(trees, path.Dir(absolute(admin, strings.TrimRight(string(text), "\r\n"))))
		}
	}
	// Tasks may have written these names: what is no directory of a root is not looked at.
	trees = slices.DeleteFunc(trees, func(tree string) bool {
		if !s.isRoot(tree) && s.outermost(tree) == "" {
			return true
		}
		dir, err := rootio.Exact(tree)
		if err == nil {
			err = dir.Close()
		}
		return err != nil
	})
	if len(trees) == 0 {
		return []string{gitdir}
	}
	slices.Sort(trees)
	return slices.Compact(trees)
}

// usersConfigs are the configurations that git reads for every repository.
func usersConfigs() []string {
	out := []string{"/etc/gitconfig"}
	home, err := os.UserHomeDir()
	if err == nil {
		out = append(out, path.Join(home, ".gitconfig"))
	}
	if dir, err := os.UserConfigDir(); err == nil {
		out = append(out, path.Join(dir, "git/config"))
	}
	return out
}

func absolute(dir, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

func escapeGlob(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}
