package guard

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
)

const maxLinks = 40

// reach protects what a protected link or pointer leads to, and each link and directory on the way, as far as they lie in
// writable roots. Nothing of the task runs yet, so the paths are the user's own.
func (s *survey) reach(p pending) error {
	cur, todo := p.from, elements(p.to)
	if path.IsAbs(p.to) {
		cur = "/"
	}
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			cur = path.Dir(cur)
			continue
		}
		next := path.Join(cur, name)
		writable := s.outermost(next) != ""
		st, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if writable {
				s.out.extras = append(s.out.extras, extra{path.Join(append([]string{next}, todo...)...), p.place})
				if !s.isRoot(cur) && s.outermost(cur) != "" {
					s.guard(cur, sandbox.GuardPassage, true)
				}
			}
			return nil
		case err != nil:
			return nil // a path that cannot be followed leads nowhere
		case st.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return nil
			}
			to, err := os.Readlink(next)
			if err != nil {
				return nil
			}
			if writable {
				s.guard(next, sandbox.GuardPassage, false)
			}
			if path.IsAbs(to) {
				cur = "/"
			}
			todo = append(elements(to), todo...)
		default:
			cur = next
			if len(todo) > 0 {
				continue
			}
			if p.includedIn != "" {
				s.configs = append(s.configs, gitConfig{cur, p.includedIn})
			}
			if p.tree != "" {
				s.trees[cur] = append(s.trees[cur], p.tree)
			}
			if writable {
				return s.arrive(cur, st.IsDir(), p.place)
			}
		}
	}
	return nil
}

// arrive protects the end of the way.
func (s *survey) arrive(name string, dir bool, place policy.Place) error {
	if place == policy.ToolConfig {
		if !s.isRoot(name) {
			s.guard(name, sandbox.GuardToolConfig, dir)
			if root, err := rootio.Exact(name); err == nil {
				s.out.ids[name] = root.Info().ID
				root.Close()
			}
		}
		return nil
	}
	switch s.placeOf(name) {
	case policy.GitDir, policy.Module, policy.Worktree, policy.ToolConfig:
		return nil // seen as what it is
	}
	e := extra{name, place}
	for _, other := range s.out.extras {
		if other == e {
			return nil
		}
	}
	s.out.extras = append(s.out.extras, e)
	root, err := rootio.Exact(name)
	if err != nil || root.Info().Kind != rootio.Dir {
		return err
	}
	defer root.Close()
	if !s.isRoot(name) {
		s.guard(name, sandbox.GuardPassage, true)
	}
	s.stack, s.again = []policy.Place{place}, true
	defer func() { s.again = false }()
	return root.Walk(s.ctx, s)
}

// placeOf is the place of an existing directory by its path.
func (s *survey) placeOf(name string) policy.Place {
	root := ""
	for _, r := range s.roots {
		if policy.Within(r.Path, name) && len(r.Path) > len(root) {
			root = r.Path
		}
	}
	return policy.Start(root).Below(strings.TrimPrefix(name, root), true, false)
}

func elements(p string) []string {
	var out []string
	for e := range strings.SplitSeq(p, "/") {
		if e != "" && e != "." {
			out = append(out, e)
		}
	}
	return out
}
