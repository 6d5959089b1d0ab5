package visible

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxMarks is how many marks may stand on one letter of a writing system that has them. More are a pile that covers other lines.
const maxMarks = 3

// marks tells, rune by rune, whether a combining mark (Mn, Me) says something other than it seems. One does not when it
//
//   - makes one known character with what is before it, as in decomposed names of files: é, ệ, が; or
//   - is a mark of the writing system of the letter that it stands on, at most maxMarks of them: नि, กำ, שָ.
//
// All others can strike out, cover or decorate any text, and are shown as escapes.
type marks struct {
	base  rune // what the next mark stands on, with what composed with it; 0 is nothing
	count int
}

func (m *marks) strange(r rune) bool {
	if !unicode.In(r, unicode.Mn, unicode.Me) {
		m.base, m.count = 0, 0
		if unicode.In(r, unicode.L, unicode.Mc) {
			m.base = r
		}
		return false
	}
	if m.base == 0 || invisible(r) {
		return !invisible(r)
	}
	if one := []rune(norm.NFC.String(string([]rune{m.base, r}))); len(one) == 1 {
		m.base = one[0]
		return false
	}
	m.count++
	return m.count > maxMarks || !ofWriting(r)
}

// ofWriting reports whether a mark belongs to one writing system. The vowel signs of Arabic and Syriac are listed as inherited.
func ofWriting(r rune) bool {
	if r >= 0x064b && r <= 0x0655 || r == 0x0670 {
		return true
	}
	return !unicode.In(r, unicode.Inherited, unicode.Common)
}
