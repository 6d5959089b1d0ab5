package tool

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sekisho/internal/visible"
)

// sniffBytes is how much of a file decides whether it is text (A-TOOL-01).
const sniffBytes = 4 << 10

// encoding of a file's bytes, judged on its beginning.
type encoding string

// The encodings. Everything that is neither marked as UTF-16 nor strict UTF-8 is binary; NUL bytes alone decide nothing.
const (
	utf8Plain encoding = "utf-8"
	utf8BOM   encoding = "utf-8-bom"
	utf16LE   encoding = "utf-16le"
	utf16BE   encoding = "utf-16be"
	binaryRaw encoding = "binary"
)

// sniff judges the first sniffBytes of a file. A character cut at the end of head is no offence when more follows.
func sniff(head []byte, more bool) encoding {
	if len(head) > sniffBytes {
		head, more = head[:sniffBytes], true
	}
	switch {
	case strings.HasPrefix(string(head), "\xef\xbb\xbf"):
		return utf8BOM
	case strings.HasPrefix(string(head), "\xff\xfe"):
		return utf16LE
	case strings.HasPrefix(string(head), "\xfe\xff"):
		return utf16BE
	}
	if more {
		head = wholeRunes(head)
	}
	if utf8.Valid(head) {
		return utf8Plain
	}
	return binaryRaw
}

// wholeRunes is b without a character that its end cuts.
func wholeRunes(b []byte) []byte {
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

func (e encoding) wide() bool { return e == utf16LE || e == utf16BE }

// bom is the length of the byte order mark.
func (e encoding) bom() int {
	switch e {
	case utf8BOM:
		return 3
	case utf16LE, utf16BE:
		return 2
	}
	return 0
}

// decode turns bytes after the byte order mark into text; what is not valid in the encoding is shown as escapes. exact is
// false when it had to.
func (e encoding) decode(b []byte) (s string, exact bool) {
	if !e.wide() {
		if utf8.Valid(b) {
			return string(b), true
		}
		return printable(b), false
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if e == utf16BE {
		order = binary.BigEndian
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	s = string(utf16.Decode(units))
	return s, len(b)%2 == 0 && slices.Equal(utf16.Encode([]rune(s)), units)
}

// printable shows bytes of unknown content: newlines, tabs and every visible character as they are, all else escaped, so
// that neither a terminal sequence nor a hidden character reaches a reader. CR LF becomes a newline.
func printable(b []byte) string {
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

// oneLine is printable text that cannot start another line: a file name in a list, a line of a file.
func oneLine(s string) string {
	return strings.ReplaceAll(printable([]byte(s)), "\n", `\n`)
}

// clip cuts s to at most n bytes at a character boundary and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + visible.Ellipsis
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
