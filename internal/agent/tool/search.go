package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// Bounds on one search. A search that reaches one answers with what it found and says so.
const (
	searchDepth   = 64
	searchEntries = 200_000
	searchBytes   = 512 << 20
	searchTime    = 60 * time.Second
	searchLine    = 1 << 20 // longest line that is matched as a whole
	shownLine     = 300     // bytes of a matching line that are shown
)

// searchHeader is the header of file_search. Results counts the lines that follow; a false Complete comes with the reason
// in Note. Skipped files were neither text nor regular, or could not be read.
type searchHeader struct {
	OK       bool             `json:"ok"`
	Root     string           `json:"root"`
	Results  int              `json:"results"`
	Complete bool             `json:"complete"`
	Searched int              `json:"files_searched,omitzero"`
	Skipped  int              `json:"files_skipped,omitzero"`
	Encoding charset.Encoding `json:"encoding,omitzero"`
	Note     string           `json:"note,omitzero"`
}

func (d *Dispatcher) prepareSearch(_ context.Context, s Scope, _ agent.ToolCall, args any) step {
	a := args.(searchArgs)
	t, refused := d.resolve(s, a.root, rootio.Existing, sandbox.Read)
	if refused != nil {
		return step{refused: refused}
	}
	return step{close: t.Close, run: func(ctx context.Context) outcome {
		o := d.search(ctx, a, t)
		o.target = a.root
		return o
	}}
}

func (d *Dispatcher) search(ctx context.Context, a searchArgs, t *rootio.Target) outcome {
	if a.mode == "tail" {
		return d.tail(ctx, a, t)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, errSearchTime)
	defer cancel()
	s := &search{args: a, limit: min(a.maxResults, d.deps.Limits.SearchMaxResults), base: t.Path()}
	err := s.walk(ctx, t)
	h := searchHeader{OK: true, Root: valid(t.Path()), Results: len(s.results), Searched: s.searched, Skipped: s.skipped, Complete: err == nil && !s.tooDeep}
	switch stop := (stopped("")); {
	case err == nil && s.tooDeep:
		h.Note = fmt.Sprintf("directories more than %d deep were left out", searchDepth)
	case err == nil:
	case errors.As(err, &stop):
		h.Note = string(stop)
	case errors.Is(context.Cause(ctx), errSearchTime):
		h.Note = fmt.Sprintf("stopped after %v", searchTime)
	default:
		return d.readFailure(a.root, err)
	}
	o := done("tool.search.done", h, strings.Join(s.results, "\n"), a.root)
	o.userArgs["count"] = fmt.Sprint(len(s.results))
	return o
}

var errSearchTime = errors.New("search time is over")

// stopped ends a walk early with the reason that the model is told.
type stopped string

func (s stopped) Error() string { return string(s) }

// search is the state of one walk.
type search struct {
	args              searchArgs
	limit             int
	base              string
	results           []string
	entries           int
	bytes             int64
	searched, skipped int
	tooDeep           bool
}

// walk visits t and, when it is a directory, everything below it in the order of names. Links are reported, not followed;
// only regular files are opened.
func (s *search) walk(ctx context.Context, t *rootio.Target) error {
	if t.Info().Kind == rootio.File {
		return s.file(ctx, t, pathBase(t.Path()))
	}
	return s.dir(ctx, t, "", 0)
}

func (s *search) dir(ctx context.Context, t *rootio.Target, rel string, depth int) error {
	entries, more, err := t.List(searchEntries - s.entries)
	if err != nil {
		if depth == 0 {
			return err
		}
		s.skipped++
		return nil
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.entries++
		child := e.Name
		if rel != "" {
			child = rel + "/" + e.Name
		}
		if err := s.entry(ctx, t, e, child, depth); err != nil {
			return err
		}
	}
	if more {
		return stopped(fmt.Sprintf("stopped after %d entries", searchEntries))
	}
	return nil
}

func (s *search) entry(ctx context.Context, dir *rootio.Target, e rootio.Entry, rel string, depth int) error {
	kind := e.Info.Kind
	if s.args.mode == "glob" || s.args.mode == "name" {
		if s.matchName(e.Name, rel) {
			if err := s.add(s.at(rel)); err != nil {
				return err
			}
		}
		if kind != rootio.Dir {
			return nil
		}
	}
	if kind != rootio.Dir && kind != rootio.File {
		s.skipped++
		return nil
	}
	if kind == rootio.Dir && depth >= searchDepth {
		s.tooDeep = true
		return nil
	}
	t, err := dir.Child(e.Name)
	if err != nil { // gone, replaced by something else, or not readable: never an outside object
		s.skipped++
		return nil
	}
	defer t.Close()
	if t.Info().Kind == rootio.Dir {
		return s.dir(ctx, t, rel, depth+1)
	}
	return s.file(ctx, t, rel)
}

func (s *search) matchName(name, rel string) bool {
	if s.args.mode == "name" {
		return strings.Contains(strings.ToLower(name), strings.ToLower(s.args.query))
	}
	return doublestar.MatchUnvalidated(s.args.query, rel)
}

// at is the absolute path of a name below the searched root.
func (s *search) at(rel string) string { return strings.TrimSuffix(s.base, "/") + "/" + rel }

func (s *search) add(line string) error {
	if len(s.results) == s.limit {
		return stopped(fmt.Sprintf("stopped at %d results", s.limit))
	}
	s.results = append(s.results, charset.OneLine(line))
	return nil
}

func pathBase(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
