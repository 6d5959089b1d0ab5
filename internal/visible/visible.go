// Package visible makes untrusted text safe to show on one line of a terminal, a log or an MCP text.
//
// A newline could forge another field (A-MCP-03), an escape sequence could repaint the terminal, and a bidirectional
// or zero-width character could make a command read differently from what it does. All of them are shown as escapes.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ellipsis ends a text that Line has cut.
const Ellipsis = "…"

// Escape returns s with every control, format (bidi, zero width), line and paragraph separator, private use,
// surrogate and invalid byte written as an escape: \n, \t, \r, \xNN, \u{NNNN}. A backslash is doubled, so that
// the result is unambiguous. So is a combining mark that draws on what is none of its writing: see marks.
func Escape(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	var m marks
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if m.strange(r) {
			b.WriteString(number(r))
		} else {
			b.WriteString(escapeRune(r, n, s[i]))
		}
		i += n
	}
	return b.String()
}

// Line is Escape, cut to at most limit bytes at a character boundary; a cut text ends with Ellipsis. An escape is
// never cut in half. A limit below len(Ellipsis) yields "" for a text that does not fit.
func Line(s string, limit int) string { return line(s, limit, escapeRune) }

// Clip is Line for a text whose outside parts are escaped already, such as one of locale: a backslash stays as it is, all
// that Line escapes otherwise is escaped still.
func Clip(s string, limit int) string {
	return line(s, limit, func(r rune, n int, first byte) string {
		if r == '\\' {
			return `\`
		}
		return escapeRune(r, n, first)
	})
}

func line(s string, limit int, escapeRune func(r rune, n int, first byte) string) string {
	if len(s) <= limit && plain(s) {
		return s
	}
	var b strings.Builder
	var m marks
	fit := -1 // length of b at the last place where the ellipsis still fits
	for i := 0; i < len(s); {
		if b.Len()+len(Ellipsis) <= limit {
			fit = b.Len()
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		e := escapeRune(r, n, s[i])
		if m.strange(r) {
			e = number(r)
		}
		if b.Len()+len(e) > limit {
			if fit < 0 {
				return ""
			}
			return b.String()[:fit] + Ellipsis
		}
		b.WriteString(e)
		i += n
	}
	return b.String()
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e || s[i] == '\\' {
			return false
		}
	}
	return true
}

func escapeRune(r rune, n int, first byte) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf(`\x%02x`, first)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r == '\\':
		return `\\`
	case r < 0x20 || r == 0x7f:
		return fmt.Sprintf(`\x%02x`, r)
	case unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || invisible(r):
		return number(r)
	}
	return string(r)
}

func number(r rune) string { return fmt.Sprintf(`\u{%04x}`, r) }

// invisible lists characters outside category C that print as nothing or as a plain space look-alike.
func invisible(r rune) bool {
	switch r {
	case 0x034f, 0x17b4, 0x17b5, // a joiner and two vowels without a glyph
		0x2800,  // the Braille pattern without dots
		0xfffc,  // stands for an object that is not there
		0x16fe4, // a filler
		0x1d159: // a note without a head
		return true
	}
	return unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}
