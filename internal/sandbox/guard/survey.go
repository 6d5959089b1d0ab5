package guard

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
)

// Survey walks the writable roots of p. The caller closes the Findings. Errors are *fault.Error: policy.denied with the
// variants hard_link, hard_link_repository, hard_link_protected, hard_link_directories, unreadable, too_deep,
// too_many_files, too_many_guards; sandbox.resolution_changed for a root that is another object by now; ctx's cause.
func Survey(ctx context.Context, p *sandbox.EffectivePolicy) (*Findings, error) {
	s := &survey{ctx: ctx, policy: p, roots: guardable(p), guards: map[string]sandbox.Guard{}, links: newLinks(), read: map[gitConfig]bool{}, trees: map[string][]string{}, out: &Findings{ids: map[string]sandbox.FileID{}}}
	err := s.all()
	if err != nil {
		s.out.Close()
		return nil, err
	}
	return s.out, nil
}

type survey struct {
	ctx    context.Context
	policy *sandbox.EffectivePolicy
	roots  []sandbox.Root
	guards map[string]sandbox.Guard
	links  *links
	out    *Findings

	root    sandbox.Root // the one that is walked
	owner   rootio.Info
	stack   []policy.Place // of the directories around the visit
	again   bool           // a second walk of the same names, about places only
	entries int
	pending []pending
	ways    []string // links of working trees
	configs []gitConfig
	read    map[gitConfig]bool
	trees   map[string][]string // working trees by the git directory that they name, or that names them
}

// pending is a path that something protected leads to.
type pending struct {
	from  string // the directory that a relative one starts at
	to    string
	place policy.Place
	// tree is the working tree that a .git file makes one of its git directory; includedIn is the git directory whose
	// configuration includes the file.
	tree, includedIn string
}

func (s *survey) all() error {
	for _, r := range s.roots {
		open, err := rootio.Open(r.Path, r.ID)
		if err != nil {
			return err
		}
		s.out.roots = append(s.out.roots, open)
		s.root, s.owner, s.stack = r, open.Info(), []policy.Place{policy.Start(r.Path)}
		s.links.enter(r.Path, s.stack[0])
		if closed := open.Walkable(); errors.Is(closed, os.ErrPermission) {
			return refuse("unreadable", r.Path)
		}
		if err := open.Walk(s.ctx, s); err != nil {
			return err
		}
		s.links.leave()
	}
	for s.configured(); len(s.pending) > 0; s.configured() {
		for len(s.pending) > 0 {
			p := s.pending[0]
			s.pending = s.pending[1:]
			if err := s.reach(p); err != nil {
				return err
			}
		}
	}
	if err := s.links.judge(s); err != nil {
		return err
	}
	if err := s.lookBehind(); err != nil {
		return err
	}
	if len(s.guards) > maxGuards {
		return refuse("too_many_guards", s.roots[0].Path, fault.Arg("count", len(s.guards)), fault.Arg("limit", maxGuards))
	}
	for _, g := range s.guards {
		s.out.Guards = append(s.out.Guards, g)
	}
	slices.SortFunc(s.out.Guards, func(a, b sandbox.Guard) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// Visit implements rootio.Walker.
func (s *survey) Visit(v *rootio.Visit) (bool, error) {
	if s.entries++; s.entries > maxEntries {
		return false, refuse("too_many_files", s.root.Path, fault.Arg("limit", maxEntries))
	}
	if v.Mounted || s.isRoot(v.Path) {
		return false, nil // nothing of a mount is visible inside; another root is walked by itself
	}
	if v.TooDeep {
		return false, refuse("too_deep", v.Path)
	}
	around := s.stack[len(s.stack)-1]
	around, place := enter(around, v)
	if writtenThrough(around, v) && place != policy.ToolConfig && !s.policy.ToolConfigWrites {
		s.guard(v.Path, sandbox.GuardPassage, false)
		s.out.ids[v.Path] = v.Info.ID
	}
	// The list of a rebase stays writable, so that the rebase can go on inside, unless it has commands that are the user's own.
	harmless := around == policy.Rebase && inert(around, v, nil)
	if place == policy.ToolConfig && around != policy.ToolConfig && !harmless && !s.policy.ToolConfigWrites {
		s.protect(v)
	}
	if v.Info.Kind == rootio.Dir && place == policy.Tree && strings.HasPrefix(v.Name, insidePrefix) && !s.policy.ToolConfigWrites {
		// What an earlier task left is the user's to look at and remove.
		s.guard(v.Path, sandbox.GuardToolConfig, true)
		s.out.ids[v.Path] = v.Info.ID
	}
	if v.Link && place == policy.Tree && !s.again {
		s.ways = append(s.ways, v.Path)
	}
	if !s.again {
		if v.Info.UID != s.owner.UID || os.Geteuid() == 0 && v.Info.GID != s.owner.GID {
			if s.out.Foreign.Count++; s.out.Foreign.Count == 1 {
				s.out.Foreign.First = v.Path
			}
		}
		if v.Info.Kind == rootio.File {
			s.links.file(v)
		}
	}
	if v.Info.Kind != rootio.Dir {
		return false, nil
	}
	s.stack = append(s.stack, place)
	if !s.again {
		s.links.enter(v.Path, place)
	}
	return true, nil
}

// Leave implements rootio.Walker.
func (s *survey) Leave(string) error {
	s.stack = s.stack[:len(s.stack)-1]
	if !s.again {
		s.links.leave()
	}
	return nil
}

// Unreadable implements rootio.Walker. A directory of somebody else is closed to the task too; its own it could open.
func (s *survey) Unreadable(v *rootio.Visit, _ error) (func() (func() error, error), error) {
	if v.Info.UID == os.Geteuid() {
		return nil, refuse("unreadable", v.Path)
	}
	return nil, s.Leave(v.Path)
}

func (s *survey) isRoot(name string) bool {
	return slices.ContainsFunc(s.roots, func(r sandbox.Root) bool { return r.Path == name })
}

// protect guards a visited name, and notes where it leads.
func (s *survey) protect(v *rootio.Visit) {
	s.guard(v.Path, sandbox.GuardToolConfig, v.Info.Kind == rootio.Dir)
	s.out.ids[v.Path] = v.Info.ID
	if v.Link {
		if to, err := v.Target(); err == nil {
			s.pending = append(s.pending, pending{from: path.Dir(v.Path), to: to, place: policy.ToolConfig})
		}
		return
	}
	if v.Info.Kind == rootio.File && (v.Name == "config" || v.Name == "config.worktree") {
		for _, file := range append(usersConfigs(), v.Path) {
			s.configs = append(s.configs, gitConfig{file, path.Dir(v.Path)})
		}
		return
	}
	if v.Info.Kind != rootio.File || v.Name != "commondir" && !strings.EqualFold(v.Name, ".git") {
		return
	}
	text, err := v.Content(maxPointer)
	if err != nil {
		return // no pointer that git would follow
	}
	if to, ok := pointer(v.Name, text); ok {
		p := pending{from: path.Dir(v.Path), to: to, place: policy.GitDir}
		if v.Name != "commondir" {
			p.tree = p.from
		}
		s.pending = append(s.pending, p)
	}
}

// lookBehind notes what links lead to already, so that the sweep can tell what is new.
func (s *survey) lookBehind() error {
	if s.policy.ToolConfigWrites {
		return nil
	}
	b := &behind{ctx: s.ctx, found: func(v *rootio.Visit) bool {
		s.out.behind = append(s.out.behind, Kept{v.Path, v.Info.ID})
		return false
	}}
	for _, r := range s.roots {
		b.roots = append(b.roots, WatchedRoot{r.Path, r.ID})
	}
	for _, name := range s.ways {
		if _, err := b.link(name); err != nil {
			return err
		}
	}
	slices.SortFunc(s.out.behind, func(a, b Kept) int { return strings.Compare(a.Path, b.Path) })
	s.out.behind = slices.Compact(s.out.behind)
	return nil
}

// maxGitConfig is far above any configuration that people have; a larger one leads nowhere for us, and is still read-only.
const (
	maxPointer   = 8 << 10
	maxGitConfig = 1 << 20
)

// pointer reads a .git file or a commondir file.
func pointer(name string, text []byte) (string, bool) {
	to := strings.TrimRight(string(text), "\n\r")
	ok := true
	if name != "commondir" {
		to, ok = strings.CutPrefix(to, "gitdir: ")
	}
	return to, ok && to != "" && !strings.ContainsAny(to, "\n\x00")
}

// guard adds one guard and the passages to it. The stronger reason stays.
func (s *survey) guard(name string, reason sandbox.GuardReason, dir bool) {
	kind := "file"
	if dir {
		kind = "directory"
	}
	if old, ok := s.guards[name]; !ok || old.Reason == sandbox.GuardPassage {
		s.guards[name] = sandbox.Guard{Path: name, Reason: reason, Kind: kind}
	}
	outer := s.outermost(name)
	if outer == "" {
		return
	}
	for p := path.Dir(name); policy.Within(outer, p) && p != outer; p = path.Dir(p) {
		if _, ok := s.guards[p]; !ok && !s.isRoot(p) {
			s.guards[p] = sandbox.Guard{Path: p, Reason: sandbox.GuardPassage, Kind: "directory"}
		}
	}
}

// outermost is the shortest writable root that name lies in, or "".
func (s *survey) outermost(name string) string {
	found := ""
	for _, r := range s.roots {
		if policy.Within(r.Path, name) && r.Path != name && (found == "" || len(r.Path) < len(found)) {
			found = r.Path
		}
	}
	return found
}
