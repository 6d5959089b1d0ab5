// Package charset judges what encoding a file has and shows its bytes as text: whole characters, and what is no text as escapes.
package charset

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sekisho/internal/visible"
)

// SniffBytes is how much of a file decides whether it is text (A-TOOL-01).
const SniffBytes = 4 << 10

// Encoding of a file's bytes, judged on its beginning.
type Encoding string

// The encodings. Everything that is neither marked as UTF-16 nor strict UTF-8 is binary; NUL bytes alone decide nothing.
const (
	UTF8    Encoding = "utf-8"
	UTF8BOM Encoding = "utf-8-bom"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
	Binary  Encoding = "binary"
)

// Sniff judges the first SniffBytes of a file. A character cut at the end of head is no offence when more follows.
func Sniff(head []byte, more bool) Encoding {
	if len(head) > SniffBytes {
		head, more = head[:SniffBytes], true
	}
	switch {
	case strings.HasPrefix(string(head), "\xef\xbb\xbf"):
		return UTF8BOM
	case strings.HasPrefix(string(head), "\xff\xfe"):
		return UTF16LE
	case strings.HasPrefix(string(head), "\xfe\xff"):
		return UTF16BE
	}
	if more {
		head = WholeRunes(head)
	}
	if utf8.Valid(head) {
		return UTF8
	}
	return Binary
}

// WholeRunes is b without a character that its end cuts.
func WholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			return b
		}
	}
	return b
}

// FromRune is b without the rest of a character that its beginning cuts.
func FromRune(b []byte) []byte {
	for n := 0; n < 3 && n < len(b); n++ {
		if b[n]&0xc0 != 0x80 {
			return b[n:]
		}
	}
	return b
}

// Wide reports whether a character takes at least two bytes.
func (e Encoding) Wide() bool { return e == UTF16LE || e == UTF16BE }

// BOM is the length of the byte order mark.
func (e Encoding) BOM() int {
	switch e {
	case UTF8BOM:
		return 3
	case UTF16LE, UTF16BE:
		return 2
	}
	return 0
}

// Decode turns bytes after the byte order mark into text; what is not valid in the encoding is shown as escapes. exact is
// false when it had to.
func (e Encoding) Decode(b []byte) (s string, exact bool) {
	if !e.Wide() {
		if utf8.Valid(b) {
			return string(b), true
		}
		return Printable(b), false
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if e == UTF16BE {
		order = binary.BigEndian
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	s = string(utf16.Decode(units))
	return s, len(b)%2 == 0 && slices.Equal(utf16.Encode([]rune(s)), units)
}

// Cut moves the range [start, start+want) of a file to whole characters and returns its start and its bytes. b holds the
// file's bytes from start, three more than want unless the file ends before.
func (e Encoding) Cut(b []byte, start, want int64) (int64, []byte) {
	lo, hi := 0, int(min(want, int64(len(b))))
	switch e {
	case UTF16LE, UTF16BE:
		lo = min(int(start%2), hi)
		hi = min(lo+(hi-lo+1)/2*2, len(b))
		if hi-lo >= 2 && hi+2 <= len(b) && e.unit(b[hi-2:])>>10 == 0x36 { // a high surrogate: its other half belongs to it
			hi += 2
		}
	case UTF8, UTF8BOM:
		if start > 0 {
			lo = hi - len(FromRune(b[:hi]))
		}
		if lo == hi || hi == len(b) {
			break
		}
		if whole := WholeRunes(b[lo:hi]); len(whole) > 0 {
			hi = lo + len(whole)
		}
		for hi < len(b) && b[hi]&0xc0 == 0x80 && hi-lo < 4 { // a range shorter than one character: take it whole
			hi++
		}
	}
	return start + int64(lo), b[lo:hi]
}

func (e Encoding) unit(b []byte) uint16 {
	if e == UTF16BE {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

// Printable shows bytes of unknown content: newlines, tabs and every visible character as they are, all else escaped, so
// that neither a terminal sequence nor a hidden character reaches a reader. CR LF becomes a newline.
func Printable(b []byte) string {
	var out strings.Builder
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == '\r' && i+1 < len(b) && b[i+1] == '\n':
		case r == '\n' || r == '\t' || r == '\\' || (r >= 0x20 && r < 0x7f):
			out.WriteRune(r)
		default:
			out.WriteString(visible.Escape(string(b[i : i+n])))
		}
		i += n
	}
	return out.String()
}

// OneLine is Printable text that cannot start another line: a file name in a list, a line of a file.
func OneLine(s string) string {
	return strings.ReplaceAll(Printable([]byte(s)), "\n", `\n`)
}

// Clip cuts s to at most n bytes at a character boundary and marks the cut.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + visible.Ellipsis
}
