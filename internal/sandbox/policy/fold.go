package policy

import (
	"strings"
	"unicode"
)

// folded is what a name of ASCII letters becomes in a directory that knows no case. ext4, f2fs and tmpfs compare there by full case
// folding of the decomposed name, and leave out what is not shown (the kernel's fs/unicode, NFDICF), so that a name can mean another of
// fewer letters. These are all the code points that fold to ASCII; a letter with an accent does not.
func folded(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case ignorable(r):
		case r == 'ſ':
			b.WriteByte('s')
		case foldsTo[r] != "":
			b.WriteString(foldsTo[r])
		default:
			b.WriteRune(unicode.ToLower(r)) // the Kelvin sign too
		}
	}
	return b.String()
}

var foldsTo = map[rune]string{'ß': "ss", 'ẞ': "ss", 'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st"}

// ignorables are the ranges of Unicode's Default_Ignorable_Code_Point.
var ignorables = [][2]rune{{0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f}, {0x202a, 0x202e},
	{0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}}

func ignorable(r rune) bool {
	for _, i := range ignorables {
		if r >= i[0] && r <= i[1] {
			return true
		}
	}
	return false
}
