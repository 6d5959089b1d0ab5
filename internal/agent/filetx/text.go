package filetx

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding of a text file as its bytes tell.
type encoding uint8

const (
	unknown encoding = iota // neither UTF-8 nor marked as UTF-16: some 8-bit encoding, or no text at all
	plainUTF8
	markedUTF8
	utf16LE
	utf16BE
)

var (
	bom8    = []byte{0xef, 0xbb, 0xbf}
	bom16LE = []byte{0xff, 0xfe}
	bom16BE = []byte{0xfe, 0xff}
	bom32LE = []byte{0xff, 0xfe, 0, 0}
)

// document is the content of a text file: without byte order mark, as UTF-8. For an unknown encoding text holds the bytes
// as they are.
type document struct {
	enc  encoding
	text string
}

// read decodes strictly; what does not decode is of unknown encoding.
func read(b []byte) document {
	switch {
	case bytes.HasPrefix(b, bom8) && utf8.Valid(b):
		return document{markedUTF8, string(b[len(bom8):])}
	case bytes.HasPrefix(b, bom32LE):
	case bytes.HasPrefix(b, bom16LE), bytes.HasPrefix(b, bom16BE):
		enc := utf16LE
		if b[0] == bom16BE[0] {
			enc = utf16BE
		}
		if s, ok := decode16(b[2:], enc); ok {
			return document{enc, s}
		}
	case utf8.Valid(b):
		return document{plainUTF8, string(b)}
	}
	return document{unknown, string(b)}
}

// bytes is the inverse of read.
func (d document) bytes() []byte {
	switch d.enc {
	case markedUTF8:
		return append(bytes.Clone(bom8), d.text...)
	case utf16LE, utf16BE:
		return encode16(d.text, d.enc)
	}
	return []byte(d.text)
}

func decode16(b []byte, enc encoding) (string, bool) {
	if len(b)%2 != 0 {
		return "", false
	}
	units := make([]uint16, 0, len(b)/2)
	for i := 0; i < len(b); i += 2 {
		u := uint16(b[i]) | uint16(b[i+1])<<8
		if enc == utf16BE {
			u = u<<8 | u>>8
		}
		units = append(units, u)
	}
	var s strings.Builder
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			if i+1 == len(units) {
				return "", false
			}
			if r = utf16.DecodeRune(r, rune(units[i+1])); r == utf8.RuneError {
				return "", false
			}
			i++
		}
		s.WriteRune(r)
	}
	return s.String(), true
}

func encode16(s string, enc encoding) []byte {
	b := bytes.Clone(bom16LE)
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	if enc == utf16BE {
		for i := 0; i < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	}
	return b
}

// Line endings.
const (
	lf   = "\n"
	crlf = "\r\n"
)

// endings counts both kinds.
func endings(s string) (lfs, crlfs int) {
	crlfs = strings.Count(s, crlf)
	return strings.Count(s, lf) - crlfs, crlfs
}

// uniform is the one kind of line ending that s has, or "" when it has none or both.
func uniform(s string) string {
	switch lfs, crlfs := endings(s); {
	case lfs > 0 && crlfs == 0:
		return lf
	case crlfs > 0 && lfs == 0:
		return crlf
	}
	return ""
}

// withEndings gives every line of s the ending eol.
func withEndings(s, eol string) string {
	s = strings.ReplaceAll(s, crlf, lf)
	if eol == crlf {
		s = strings.ReplaceAll(s, lf, crlf)
	}
	return s
}

func ascii(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) }

// rewrite is content in the encoding and with the line endings of the old file. ok is false when that encoding is unknown
// and content is more than ASCII.
func rewrite(old []byte, content string) (b []byte, ok bool) {
	d := read(old)
	if d.enc == unknown && !ascii(content) {
		return nil, false
	}
	if have := uniform(d.text); have != "" && uniform(content) != "" {
		content = withEndings(content, have)
	}
	if d.enc != plainUTF8 {
		content = strings.TrimPrefix(content, "\ufeff") // the mark is kept, not doubled
	}
	d.text = content
	return d.bytes(), true
}
