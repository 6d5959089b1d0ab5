package tool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/fault"
)

// searchWorld holds text in three encodings, binary bytes, a FIFO, and links that lead out, up and in a circle.
func searchWorld(t *testing.T) *world {
	w := newWorld(t)
	w.write("app/b.go", "package b\nfunc Needle() {}\n")
	w.write("app/a/z.txt", "nothing\r\na needle here\r\n")
	w.write("app/a/B.txt", "needle needle\nno newline needle")
	w.write("app/a/deep/c.go", "// needle\n")
	w.write("app/wide.txt", wide("first\nwide needle\n", false))
	w.write("app/binary", "\xff\x00needle\n")
	w.link(w.out, "app/outdir")
	w.link("..", "app/a/up")
	w.link(w.out+"/s", "app/s")
	w.fifo("app/pipe")
	return w
}

func (w *world) search(args arg) []string {
	w.t.Helper()
	r := w.call("file_search", args)
	if !r.OK {
		w.t.Fatalf("refused: %s", r.Content)
	}
	_, body := split(w.t, r)
	if strings.Contains(r.Content, secret) {
		w.t.Errorf("leaks the secret: %s", r.Content)
	}
	return strings.Split(strings.ReplaceAll(body, w.base, ""), "\n")
}

// proves A-TOOL-01
func TestSearch(t *testing.T) {
	w := searchWorld(t).open()
	for _, tc := range []struct {
		args arg
		want []string
	}{
		{arg{"mode": "glob", "query": "**/*.go"}, []string{"/app/a/deep/c.go", "/app/b.go"}},
		{arg{"mode": "glob", "query": "*"}, []string{"/app/a", "/app/b.go", "/app/binary", "/app/outdir", "/app/pipe", "/app/s", "/app/wide.txt"}},
		{arg{"mode": "glob", "query": "a/*.{txt,go}"}, []string{"/app/a/B.txt", "/app/a/z.txt"}},
		{arg{"mode": "name", "query": "B."}, []string{"/app/a/B.txt", "/app/b.go"}},
		{arg{"mode": "text", "query": "needle"}, []string{
			"/app/a/B.txt:1: needle needle", "/app/a/B.txt:2: no newline needle", "/app/a/deep/c.go:1: // needle", "/app/a/z.txt:2: a needle here",
			"/app/wide.txt:2: wide needle"}},
		{arg{"mode": "regex", "query": "(?i)^func needle|^//"}, []string{"/app/a/deep/c.go:1: // needle", "/app/b.go:2: func Needle() {}"}},
		{arg{"mode": "text", "query": "SECRET"}, []string{""}},
		{arg{"mode": "text", "query": "needle", "max_results": 1}, []string{"/app/a/B.txt:1: needle needle"}},
		{arg{"root": "b.go", "mode": "text", "query": "Needle"}, []string{"/app/b.go:2: func Needle() {}"}},
		{arg{"root": "b.go", "mode": "glob", "query": "*.go"}, []string{"/app/b.go"}},
		{arg{"root": "a", "mode": "name", "query": "up"}, []string{"/app/a/up"}},
	} {
		args := arg{"root": w.ws}.with(tc.args)
		if diff := cmp.Diff(tc.want, w.search(args)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", args, diff)
		}
	}
	h, _ := split(t, w.call("file_search", arg{"root": ".", "mode": "text", "query": "needle", "max_results": 2}))
	if h["complete"] != false || h["results"] != 2.0 || !strings.Contains(fmt.Sprint(h["note"]), "2 results") {
		t.Errorf("a full answer does not say that it was cut: %v", h)
	}
	h, _ = split(t, w.call("file_search", arg{"root": ".", "mode": "text", "query": "needle", "max_results": 5}))
	if h["complete"] != true {
		t.Errorf("an answer that just fits says that it was cut: %v", h)
	}
}

// proves A-TOOL-01
func TestSearchBounds(t *testing.T) {
	w := newWorld(t)
	w.deps.Limits.SearchMaxResults = 3
	w.write("app/long", strings.Repeat("x", 3*searchLine)+" end\nshort needle\n"+strings.Repeat("needle ", 1000)+"\n")
	w.write("app/many", strings.Repeat("hit\n", 10))
	w.write("app/name\nwith newline", "needle\n")
	for i := range searchDepth + 2 {
		w.write("app/"+strings.Repeat("d/", i)+"f", "deep\n")
	}
	w.open()
	if got := w.search(arg{"root": "many", "mode": "text", "query": "hit", "max_results": 100}); len(got) != 3 {
		t.Errorf("the configured cap gave %d results", len(got))
	}
	got := w.search(arg{"root": "long", "mode": "text", "query": "needle"})
	if len(got) != 2 || got[0] != "/app/long:2: short needle" || len(got[1]) > shownLine+40 {
		t.Errorf("got %.400q", got)
	}
	if got := w.search(arg{"root": ".", "mode": "name", "query": "newline"}); len(got) != 1 || got[0] != `/app/name\nwith newline` {
		t.Errorf("a name forged another line: %q", got)
	}
	h, _ := split(t, w.call("file_search", arg{"root": ".", "mode": "name", "query": "nowhere"}))
	if h["complete"] != false || !strings.Contains(fmt.Sprint(h["note"]), "deep") {
		t.Errorf("depth bound: %v", h)
	}
}

// proves A-TOOL-01
func TestTail(t *testing.T) {
	w := newWorld(t)
	w.deps.Limits.WholeReadBytes = 200_000
	w.deps.Limits.TailMaxLines = 4
	var long strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	w.write("app/long", long.String())
	w.write("app/short", "one\r\ntwo\nthree")
	w.write("app/empty", "")
	w.write("app/wide", wide("eins\nzwei\n", true))
	w.write("app/bom", "\xef\xbb\xbfone\ntwo\n")
	w.write("app/nul", "a\x00b\nlast\n")
	w.write("app/binary", "\xff\x00\n")
	w.write("app/lateBinary", strings.Repeat("x", charset.SniffBytes-1)+"語\n\xff\n")
	w.open()
	for _, tc := range []struct {
		name  string
		lines int
		want  []string
	}{
		{"long", 2, []string{"line 49998", "line 49999"}},
		{"long", 100, []string{"line 49996", "line 49997", "line 49998", "line 49999"}}, // limits.tail_max_lines lowers the cap
		{"short", 2, []string{"two", "three"}},
		{"short", 9, []string{"one", "two", "three"}},
		{"empty", 5, []string{""}},
		{"wide", 1, []string{"zwei"}},
		{"wide", 5, []string{"eins", "zwei"}},
		{"bom", 5, []string{"one", "two"}},
		{"nul", 5, []string{"a\x00b", "last"}},
		{"lateBinary", 1, []string{`\xff`}},
	} {
		if diff := cmp.Diff(tc.want, w.search(arg{"root": tc.name, "mode": "tail", "tail_lines": tc.lines})); diff != "" {
			t.Errorf("%s %d (-want +got):\n%s", tc.name, tc.lines, diff)
		}
	}
	for name, say := range map[string]string{"binary": "not text", ".": "directory"} {
		if r := w.call("file_search", arg{"root": name, "mode": "tail"}); r.OK || r.ErrorCode != fault.ToolFailed || !strings.Contains(r.Content, say) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// proves A-TOOL-01
func TestLastLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,3}`), 1, 10).Draw(t, "lines")
		n := rapid.IntRange(1, 12).Draw(t, "n")
		got, complete := lastLines(strings.Join(lines, "\n")+"\n", n, false)
		if want := lines[max(0, len(lines)-n):]; !complete || cmp.Diff(want, got) != "" {
			t.Fatalf("got %q %v, want %q", got, complete, want)
		}
		got, complete = lastLines(strings.Join(lines, "\n")+"\n", n, true)
		if len(lines) > n && (!complete || cmp.Diff(lines[len(lines)-n:], got) != "") || len(lines) < n && complete {
			t.Fatalf("cut: got %q %v of %q", got, complete, lines)
		}
	})
}
