package transport

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"

	"sekisho/internal/visible"
)

const (
	maxTailLine = 512
	maxTail     = 4 << 10
)

// tail keeps the last lines of a child's standard error for the person who asks why it ended. They may quote anything the
// child was told, so they are never logged: the log gets their number (R-LOG-01).
type tail struct {
	mu    sync.Mutex
	lines []string
	size  int
	total int
}

// drain reads r to its end. A line of any length costs no more than its first bytes.
func (t *tail) drain(r io.Reader) {
	br := bufio.NewReaderSize(r, maxTailLine)
	cut := false
	for {
		line, err := br.ReadSlice('\n')
		if len(line) > 0 && !cut {
			t.add(string(line))
		}
		cut = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !cut {
			return
		}
	}
}

func (t *tail) add(line string) {
	line = visible.Line(strings.TrimRight(line, "\r\n"), maxTailLine)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total++
	t.lines = append(t.lines, line)
	for t.size += len(line) + 1; t.size > maxTail; {
		t.size -= len(t.lines[0]) + 1
		t.lines = t.lines[1:]
	}
}

// String returns the kept lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// count is the number of lines seen.
func (t *tail) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}
