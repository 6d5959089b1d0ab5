package guard

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
)

const (
	maxConfig = 64 << 10
	maxHooks  = 256
)

// inert tells whether a new object under a protected name can run nothing and lead nowhere: what git itself makes in git
// init, clone and worktree add. Everything else, and everything in doubt, is not.
func inert(around policy.Place, v *rootio.Visit, roots []WatchedRoot) bool {
	switch {
	case around == policy.Tree && v.Name == ".git":
		return inertPointer(v, roots)
	case around == policy.Rebase:
		text, err := v.Content(maxConfig)
		return err == nil && v.Info.Links == 1 && inertTodo(string(text))
	case around != policy.GitDir && around != policy.Module && around != policy.Worktree:
		return false
	case v.Name == "hooks":
		return inertHooks(v)
	case v.Name == "branches": // git's templates have it, empty
		return inertHooks(v)
	case v.Name == "config":
		text, err := v.Content(maxConfig)
		return err == nil && v.Info.Links == 1 && InertConfig(string(text))
	case v.Name == "commondir" && around == policy.Worktree:
		text, err := v.Content(maxPointer)
		return err == nil && v.Info.Links == 1 && strings.TrimSuffix(string(text), "\n") == "../.."
	}
	return false
}

// inertHooks accepts a directory with nothing but the samples of git's templates, which git does not run.
func inertHooks(v *rootio.Visit) bool {
	if v.Info.Kind != rootio.Dir {
		return false
	}
	dir, err := rootio.OpenBelow(v.Dir, v.Name)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxHooks)
	if len(names) == maxHooks || err != nil && len(names) > 0 {
		return false
	}
	for _, n := range names {
		info, err := rootio.Describe(dir, n)
		if !strings.HasSuffix(n, ".sample") || err != nil || info.Kind != rootio.File {
			return false
		}
	}
	return true
}

// inertPointer accepts a .git file that leads to the administrative directory of a submodule or linked working tree of a
// repository in a watched root. What git would run there is judged under its own name.
func inertPointer(v *rootio.Visit, roots []WatchedRoot) bool {
	text, err := v.Content(maxPointer)
	if err != nil || v.Info.Links != 1 {
		return false
	}
	to, ok := pointer(v.Name, text)
	if !ok {
		return false
	}
	if !path.IsAbs(to) {
		to = path.Join(path.Dir(v.Path), to)
	}
	if path.Clean(to) != to {
		return false
	}
	dir, err := rootio.Exact(to)
	if err != nil {
		return false
	}
	defer dir.Close()
	if dir.Info().Kind != rootio.Dir {
		return false
	}
	for _, r := range roots {
		if policy.Within(r.Path, to) {
			place := policy.Start(r.Path).Below(strings.TrimPrefix(to, r.Path), true, false)
			return place == policy.Worktree || place == policy.Module
		}
	}
	return false
}

var (
	configSection = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[(core|user|remote "[\w./-]+"|branch "[\w./-]+")\]$`)
	})
	configKeys = sync.OnceValue(func() map[string]*regexp.Regexp {
		flag := regexp.MustCompile(`^(true|false)$`)
		person := regexp.MustCompile(`^[\pL\pN .,@+_-]*$`)
		ref := regexp.MustCompile(`^\+?refs/[\w./*-]+(:refs/[\w./*-]+)?$`)
		return map[string]*regexp.Regexp{
			"core.repositoryformatversion": regexp.MustCompile(`^0$`),
			"core.filemode":                flag, "core.bare": flag, "core.logallrefupdates": flag, "core.ignorecase": flag,
			"core.precomposeunicode": flag, "core.symlinks": flag,
			"user.name": person, "user.email": person,
			"remote.url":   regexp.MustCompile(`^https?://[\w.:-]+/[\w./~+-]*$`),
			"remote.fetch": ref, "branch.merge": ref,
			// A remote that has no section is a path, and whoever pushes to a path runs its hooks: no way up or elsewhere.
			"branch.remote": regexp.MustCompile(`^(\.|\w+(-\w+)*)$`),
		}
	})
)

// InertConfig tells whether text is a git configuration of nothing but these keys, in the form in which git writes them. It
// understands less than git on purpose: no quotes, comments, continued lines or includes.
func InertConfig(text string) bool {
	section := ""
	for line := range strings.Lines(text) {
		line, ok := strings.CutSuffix(line, "\n")
		if !ok {
			return false
		}
		if m := configSection().FindStringSubmatch(line); m != nil {
			section, _, _ = strings.Cut(m[1], " ")
			continue
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "\t"), " = ")
		allowed := configKeys()[section+"."+key]
		if !ok || allowed == nil || !allowed.MatchString(value) {
			return false
		}
	}
	return true
}

// todoCommands are the words of a rebase's list that start nothing: all but exec and its short form x.
var todoCommands = map[string]bool{"pick": true, "p": true, "reword": true, "r": true, "edit": true, "e": true, "squash": true, "s": true, "fixup": true, "f": true,
	"drop": true, "d": true, "label": true, "l": true, "reset": true, "t": true, "merge": true, "m": true, "noop": true, "break": true, "b": true, "update-ref": true, "u": true}

// inertTodo tells whether a rebase's list names no command to run.
func inertTodo(text string) bool {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 0 && !strings.HasPrefix(words[0], "#") && !todoCommands[words[0]] {
			return false
		}
	}
	return true
}
