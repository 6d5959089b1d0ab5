package policy

import (
	"path"
	"slices"
	"strings"

	"sekisho/internal/sandbox"
)

// Place is where a name of a writable root lies with respect to A-POL-13: the host's tools look for different things in a
// working tree and in git's own directories.
type Place uint8

// The places. A root begins as Tree.
const (
	// Tree is a working tree: every directory is one until its name says otherwise, so that a repository is protected
	// wherever it lies in a root.
	Tree Place = iota
	// GitDir is a git directory. Nothing of it is protected but what git runs or follows.
	GitDir
	// Modules holds the git directories of submodules, whose names may have slashes.
	Modules
	// Module is a submodule's git directory, or a part of its name.
	Module
	// Worktrees holds the administrative directories of linked working trees.
	Worktrees
	// Worktree is one of them.
	Worktree
	// Free is a directory in which no tool looks for anything that it runs.
	Free
	// GitData is a directory in a git directory that is none itself, unless it has what makes one: the name of a submodule may
	// lead git there.
	GitData
	// Rebase is the state of a rebase in progress, whose list of what is to be done may name commands.
	Rebase
	// ToolConfig is protected, with everything below it.
	ToolConfig
)

// toolConfig are the names of A-POL-13 in a working tree.
var toolConfig = []string{".husky", ".envrc", ".vscode", ".idea", ".mcp.json", ".claude", ".codex", ".cursor", "AGENTS.md", "CLAUDE.md"}

// gitRuns are the names in a git directory that make git run something, or look for that elsewhere: commondir leads git to
// another directory's config and hooks, config.worktree is a second config, remotes and branches tell, as configs did once,
// which repository a push or fetch goes to, where hooks run.
var gitRuns = []string{"hooks", "config", "config.worktree", "commondir", "remotes", "branches"}

// gitData are the directories of a git directory that hold nothing but data, under names that others choose.
var gitData = []string{"objects", "refs", "logs", "info", "lfs", "rr-cache", "reftable", "rebase-apply", "sequencer"}

// The directory of a rebase in progress in a git directory, and the list that git goes on with at "git rebase --continue".
const rebaseState, rebaseTodo = "rebase-merge", "git-rebase-todo"

// packages is the directory of installed packages. Their own .vscode or CLAUDE.md belongs to their authors; nobody works
// there, and a package manager renames what lies in it.
const packages = "node_modules"

// Enter is the place of an object in a directory of place p. dir tells whether the object is a directory itself (a link is
// none), fold whether the directory knows no case.
func (p Place) Enter(name string, dir, fold bool) Place {
	lower := ""
	if fold {
		lower = folded(name)
	}
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return n == name || fold && strings.ToLower(n) == lower })
	}
	switch p {
	case Tree:
		switch {
		case is(".git") && dir:
			return GitDir
		case is(".git"), is(toolConfig...):
			return ToolConfig
		case name == packages:
			return Free
		}
		return Tree
	case GitDir, Module:
		switch {
		case is(gitRuns...):
			return ToolConfig
		case is("modules"):
			return Modules
		case is("worktrees"):
			return Worktrees
		case is(rebaseState) && dir:
			return Rebase
		case p == Module && dir && !is(gitData...):
			return Module
		}
		return GitData
	case Modules:
		return Module
	case Worktrees:
		return Worktree
	case Worktree:
		switch {
		case is(gitRuns...):
			return ToolConfig
		case is("modules"):
			return Modules
		case is(rebaseState) && dir:
			return Rebase
		}
		return GitData
	case Rebase:
		if is(rebaseTodo) {
			return ToolConfig
		}
		return GitData
	}
	return p
}

// Below follows the elements of rel, a path below a directory of place p, to its end. dir tells whether the last one is a
// directory.
func (p Place) Below(rel string, dir, fold bool) Place {
	elems := strings.Split(strings.Trim(rel, "/"), "/")
	for i, e := range elems {
		if e == "" {
			continue
		}
		if p = p.Enter(e, dir || i < len(elems)-1, fold); p == Free || p == ToolConfig {
			return p
		}
	}
	return p
}

// Guardable tells whether A-POL-10 and A-POL-13 apply to a root: a directory that may be written and belongs to the user.
func Guardable(r *sandbox.Root) bool {
	return !r.File && r.Rights&(sandbox.Write|sandbox.Delete) != 0
}

// Start is the place of a root itself: whoever declares a git directory as a root gets it protected as one.
func Start(root string) Place {
	if path.Base(root) == ".git" {
		return GitDir
	}
	return Tree
}

// protects tells whether A-POL-13 keeps name, in root, from being changed.
func protects(p *sandbox.EffectivePolicy, root *sandbox.Root, name string, dir, fold bool) bool {
	return !p.ToolConfigWrites && Guardable(root) && Start(root.Path).Below(strings.TrimPrefix(name, root.Path), dir, fold) == ToolConfig
}

// GuardOf is the read-only guard that name is or lies below, or nil. guards is sorted by path.
func GuardOf(guards []sandbox.Guard, name string) *sandbox.Guard {
	for p := name; len(p) > 1; p = path.Dir(p) {
		i, found := slices.BinarySearchFunc(guards, p, func(g sandbox.Guard, p string) int { return strings.Compare(g.Path, p) })
		if found && guards[i].Reason != sandbox.GuardPassage {
			return &guards[i]
		}
	}
	return nil
}
