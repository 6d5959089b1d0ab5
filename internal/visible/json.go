package visible

import (
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a JSON text with the same data, in which every character that Escape would escape is written as \uXXXX. A
// JSON encoder writes only controls below U+0020 so; a terminal that shows the file obeys others as well. Outside strings
// JSON holds none of them, and inside none can follow a backslash.
func JSON(text []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if hides(r) && !(r == utf8.RuneError && n == 1) {
			out = append(out, text[done:i]...)
			if hi, lo := utf16.EncodeRune(r); hi != unicode.ReplacementChar {
				out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// hides reports whether r acts on whoever shows it, or shows as nothing.
func hides(r rune) bool {
	return r >= 0x7f && (unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || invisible(r))
}
