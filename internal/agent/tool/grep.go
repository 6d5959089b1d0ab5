package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/sandbox/rootio"
)

// file searches the lines of one regular file, or matches its name when it is the searched root itself.
func (s *search) file(ctx context.Context, t *rootio.Target, rel string) error {
	path := t.Path()
	if s.args.mode == "glob" || s.args.mode == "name" {
		if s.matchName(rel, rel) {
			return s.add(path)
		}
		return nil
	}
	f, err := t.OpenRead()
	if err != nil {
		s.skipped++
		return nil
	}
	defer f.Close()
	r := bufio.NewReaderSize(&ctxReader{ctx, &meter{f, s}}, 64<<10)
	head, err := r.Peek(charset.SniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return s.skip(ctx, err)
	}
	enc := charset.Sniff(head, err == nil)
	if enc == charset.Binary {
		s.skipped++
		return nil
	}
	s.searched++
	_, _ = r.Discard(enc.BOM()) // was peeked
	if enc.Wide() {
		return s.wide(ctx, r, enc, path)
	}
	for n := 1; ; n++ {
		line, err := readLine(r)
		if len(line) > 0 || err == nil {
			if err := s.line(path, n, line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.skip(ctx, err)
		}
	}
}

// skip decides whether an error ends the walk or only leaves out this file.
func (s *search) skip(ctx context.Context, err error) error {
	if stop := stopped(""); errors.As(err, &stop) || ctx.Err() != nil {
		return err
	}
	s.skipped++
	return nil
}

// wide searches a UTF-16 file, which is decoded as a whole.
func (s *search) wide(ctx context.Context, r io.Reader, enc charset.Encoding, path string) error {
	b, err := io.ReadAll(io.LimitReader(r, wideBytes+1))
	if err != nil {
		return s.skip(ctx, err)
	}
	if len(b) > wideBytes {
		s.skipped++
		return nil
	}
	text, _ := enc.Decode(b)
	for i, line := range strings.Split(text, "\n") {
		if err := s.line(path, i+1, []byte(line)); err != nil {
			return err
		}
	}
	return nil
}

// wideBytes is the largest UTF-16 file that is searched.
const wideBytes = 16 << 20

func (s *search) line(path string, n int, line []byte) error {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if s.args.expr != nil && !s.args.expr.Match(line) || s.args.expr == nil && !bytes.Contains(line, []byte(s.args.query)) {
		return nil
	}
	return s.add(fmt.Sprintf("%s:%d: %s", path, n, charset.Clip(charset.OneLine(string(line[:min(len(line), 4*shownLine)])), shownLine)))
}

// readLine returns the next line without its newline. Of a line longer than searchLine only the beginning is returned.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := searchLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

// meter counts what a search reads and stops it at its bound.
type meter struct {
	r io.Reader
	s *search
}

func (m *meter) Read(p []byte) (int, error) {
	if m.s.bytes >= searchBytes {
		return 0, stopped(fmt.Sprintf("stopped after reading %d MiB", searchBytes>>20))
	}
	n, err := m.r.Read(p)
	m.s.bytes += int64(n)
	return n, err
}
