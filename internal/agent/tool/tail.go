package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/sandbox/rootio"
)

// tail returns the last lines of one text file, reading back from its end, at most Limits.WholeReadBytes.
func (d *Dispatcher) tail(_ context.Context, a searchArgs, t *rootio.Target) outcome {
	if t.Info().Kind != rootio.File {
		return failure("is_directory", a.root, "mode tail needs a file, and the path is a directory")
	}
	f, err := t.OpenRead()
	if err != nil {
		return d.readFailure(a.root, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return d.readFailure(a.root, err)
	}
	size := st.Size()
	head := make([]byte, charset.SniffBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return d.readFailure(a.root, err)
	}
	enc := charset.Sniff(head[:n], int64(n) < size)
	if enc == charset.Binary {
		return failure("binary", a.root, "the file is not text (neither UTF-8 nor marked as UTF-16)")
	}
	start := max(int64(enc.BOM()), size-d.deps.Limits.WholeReadBytes)
	if enc.Wide() {
		start += start % 2
	}
	b := make([]byte, max(size-start, 0))
	n, err = f.ReadAt(b, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return d.readFailure(a.root, err)
	}
	if b = b[:n]; !enc.Wide() {
		b = charset.FromRune(b)
	}
	text, exact := enc.Decode(b)
	lines, complete := lastLines(text, min(a.tailLines, d.deps.Limits.TailMaxLines), start > int64(enc.BOM()))
	h := searchHeader{OK: true, Root: valid(t.Path()), Results: len(lines), Complete: complete, Searched: 1, Encoding: enc}
	switch {
	case !complete:
		h.Note = fmt.Sprintf("only the last %d bytes were read", n)
	case !exact:
		h.Note = noteEscaped
	}
	o := done("tool.search.done", h, strings.Join(lines, "\n"), a.root)
	o.userArgs["count"] = fmt.Sprint(len(lines))
	return o
}

// lastLines returns at most n last lines. cut says that text begins inside the file: then its first line may be half a line
// and is left out, and complete is false when fewer than n lines are left because of that.
func lastLines(text string, n int, cut bool) (lines []string, complete bool) {
	if text == "" {
		return nil, !cut
	}
	lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if cut && len(lines) > 1 {
		lines = lines[1:]
	}
	complete = !cut || len(lines) >= n
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines, complete
}
