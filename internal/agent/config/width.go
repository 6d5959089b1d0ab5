package config

import (
	"strings"
	"unicode"
)

// cells is the number of terminal columns that a text takes: two for East Asian wide characters, none for combining marks.
func cells(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	switch {
	case r >= 0xff61 && r <= 0xffdc: // half-width forms belong to wide scripts
		return false
	case r >= 0x3000 && r <= 0x303e, r >= 0xff01 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r == 0x30fb, r == 0x30fc:
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo)
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-cells(s)))
}

// table aligns rows of equal length; the last column is not padded, so that no line ends in spaces.
func table(indent string, rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cells(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := indent
		for i, cell := range row {
			if i < len(row)-1 {
				cell = pad(cell, widths[i]) + "  "
			}
			line += cell
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
