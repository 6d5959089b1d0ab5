package codex

import (
	"strings"
	"unicode/utf8"
)

// Bound cuts s to at most limit bytes at a character boundary and reports how many bytes it left out. Text of the server
// has no limit of its own (R-PRI-01); what is cut here is marked as cut by us, not by the server. What is kept
// does not hold on to the rest.
func Bound(s string, limit int) (kept string, left int) {
	if len(s) <= limit {
		return s, 0
	}
	if limit <= 0 {
		return "", len(s)
	}
	n := limit
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n]), len(s) - n
}

// BoundTail is Bound that keeps the end: command output is read from its end.
func BoundTail(s string, limit int) (kept string, left int) {
	if len(s) <= limit {
		return s, 0
	}
	if limit <= 0 {
		return "", len(s)
	}
	n := len(s) - limit
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return strings.Clone(s[n:]), n
}
