package guard

import (
	"path"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
)

// links collects the regular files with several names. Only when every root was walked is known which of their names lie
// elsewhere.
type links struct {
	dirs  []linkDir
	stack []int
	names []linkName
	seen  map[sandbox.FileID]uint64 // names inside the writable roots
}

type linkDir struct {
	path   string
	parent int // -1 for a root
	git    bool
	files  int // regular files at any depth
	out    int // of these, with a name outside the writable roots
}

type linkName struct {
	dir   int
	name  string
	id    sandbox.FileID
	links uint64
}

func newLinks() *links { return &links{seen: map[sandbox.FileID]uint64{}} }

func (l *links) enter(name string, place policy.Place) {
	d := linkDir{path: name, parent: -1}
	if n := len(l.stack); n > 0 {
		d.parent = l.stack[n-1]
		d.git = l.dirs[d.parent].git
	}
	switch place {
	case policy.GitDir, policy.Modules, policy.Module, policy.Worktrees, policy.Worktree:
		d.git = true
	}
	l.stack = append(l.stack, len(l.dirs))
	l.dirs = append(l.dirs, d)
}

func (l *links) leave() { l.stack = l.stack[:len(l.stack)-1] }

func (l *links) file(v *rootio.Visit) {
	dir := l.stack[len(l.stack)-1]
	l.dirs[dir].files++
	if v.Info.Links > 1 {
		l.names = append(l.names, linkName{dir, v.Name, v.Info.ID, v.Info.Links})
		l.seen[v.Info.ID]++
	}
}

func (l *links) path(n linkName) string { return path.Join(l.dirs[n.dir].path, n.name) }

// judge guards the directories of A-POL-10 and refuses what is left.
func (l *links) judge(s *survey) error {
	for _, n := range l.names {
		if l.seen[n.id] < n.links {
			l.dirs[n.dir].out++
		}
	}
	for i := len(l.dirs) - 1; i >= 0; i-- { // a directory comes before what it holds
		if d := l.dirs[i]; d.parent >= 0 {
			l.dirs[d.parent].files += d.files
			l.dirs[d.parent].out += d.out
		}
	}
	bound := make([]bool, len(l.dirs))
	count := 0
	for i, d := range l.dirs {
		switch {
		case d.parent < 0:
		case bound[d.parent]:
			bound[i] = true
		case !d.git && d.out > 0 && d.out == d.files:
			bound[i] = true
			if count++; count > MaxLinkedDirectories {
				return refuse("hard_link_directories", d.path, fault.Arg("limit", MaxLinkedDirectories))
			}
			if _, ok := s.guards[d.path]; !ok || s.guards[d.path].Reason == sandbox.GuardPassage {
				s.guards[d.path] = sandbox.Guard{Path: d.path, Reason: sandbox.GuardHardLinks, Kind: "directory"}
			}
		}
	}
	protected := map[sandbox.FileID]string{}
	for _, n := range l.names {
		name := l.path(n)
		if s.readOnly(name) {
			if g := s.guardOver(name); g != nil && g.Reason == sandbox.GuardToolConfig {
				protected[n.id] = name
			}
		} else if l.seen[n.id] < n.links && l.dirs[n.dir].git {
			return refuse("hard_link_repository", name, fault.Arg("repository", l.repository(n.dir)))
		} else if l.seen[n.id] < n.links {
			return refuse("hard_link", name)
		}
	}
	for _, n := range l.names {
		if other, ok := protected[n.id]; ok && !s.readOnly(l.path(n)) {
			return refuse("hard_link_protected", l.path(n), fault.Arg("other", other))
		}
	}
	return nil
}

// repository is the outermost git directory around a directory.
func (l *links) repository(dir int) string {
	for l.dirs[dir].parent >= 0 && l.dirs[l.dirs[dir].parent].git {
		dir = l.dirs[dir].parent
	}
	return l.dirs[dir].path
}

func (s *survey) readOnly(name string) bool { return s.guardOver(name) != nil }

// guardOver is the read-only guard that name is or lies in.
func (s *survey) guardOver(name string) *sandbox.Guard {
	for p := name; len(p) > 1; p = path.Dir(p) {
		if g, ok := s.guards[p]; ok && g.Reason != sandbox.GuardPassage {
			return &g
		}
	}
	return nil
}
