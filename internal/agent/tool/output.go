package tool

import (
	"fmt"

	"sekisho/internal/agent/tool/charset"
)

// streamBytes is how much of each output stream the model sees: half from the beginning, half from the end. Both streams
// together take a quarter of the shipped context window at worst.
const streamBytes = 16 << 10

// output keeps the beginning and the end of a stream of any length in bounded memory. It has no other methods of
// io.Writer's family, so nothing can be copied past its bound. One goroutine writes; text is called after that one ended.
type output struct {
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring continues
	total int64
}

// Write never fails and never keeps more than streamBytes.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	o.total += int64(n)
	if room := streamBytes/2 - len(o.head); room > 0 {
		k := min(room, len(p))
		o.head = append(o.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > streamBytes/2 {
		p = p[len(p)-streamBytes/2:]
	}
	if room := streamBytes/2 - len(o.tail); room > 0 {
		k := min(room, len(p))
		o.tail = append(o.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(o.tail[o.next:], p)
		o.next = (o.next + k) % len(o.tail)
		p = p[k:]
	}
	return n, nil
}

func (o *output) truncated() bool { return o.total > int64(len(o.head)+len(o.tail)) }

// text is what is shown, with a note in place of what was left out. Bytes that are no visible text are escaped.
func (o *output) text() string {
	tail := append(append([]byte(nil), o.tail[o.next:]...), o.tail[:o.next]...)
	if !o.truncated() {
		return charset.Printable(append(append([]byte(nil), o.head...), tail...))
	}
	left := o.total - int64(len(o.head)+len(o.tail))
	return charset.Printable(charset.WholeRunes(o.head)) + fmt.Sprintf("\n[... %d bytes left out ...]\n", left) + charset.Printable(charset.FromRune(tail))
}
