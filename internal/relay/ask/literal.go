package ask

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sekisho/internal/visible"
)

// Limits of what one card shows. A request above MaxShown cannot be shown whole and is refused, and so is one of
// more lines than MaxLines, each text with at least one: lines cost a page more than their bytes.
const (
	LongText = 8 << 10
	MaxShown = 1 << 20
	MaxLines = 1 << 15
)

// Text is server text made literal: one element per line of the original (the end of each but the last is a newline,
// which the page marks), everything that does not print as itself written as an escape (package visible), a backslash
// doubled. Nothing is cut.
type Text struct {
	Lines []string `json:"lines"`
	Bytes int      `json:"bytes"` // of the original
}

// literal makes s showable.
func literal(s string) Text {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = spaces(visible.Escape(l))
	}
	return Text{lines, len(s)}
}

func literals(list []string) []Text {
	out := make([]Text, 0, len(list))
	for _, s := range list {
		out = append(out, literal(s))
	}
	return out
}

// spaces escapes the space characters that are not the usual one.
func spaces(s string) string {
	if !strings.ContainsFunc(s, oddSpace) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if oddSpace(r) {
			fmt.Fprintf(&b, `\u{%04x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func oddSpace(r rune) bool { return r != ' ' && unicode.Is(unicode.Zs, r) }

// Host is a host name from the server. Shown is always ASCII: a name with other characters stands in punycode, so that it
// cannot look like another one, and Unicode holds the original, escaped.
type Host struct {
	Shown   string `json:"shown"`
	Unicode string `json:"unicode,omitzero"`
}

func host(s string) Host {
	labels := strings.Split(s, ".")
	odd := false
	for i, l := range labels {
		if !ascii(l) {
			labels[i], odd = "xn--"+punycode(l), true
		}
	}
	h := Host{Shown: spaces(visible.Escape(strings.Join(labels, ".")))}
	if odd {
		h.Unicode = spaces(visible.Escape(s))
	}
	return h
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// punycode encodes one label (RFC 3492), without the preparation of names: what is shown is what was sent.
func punycode(label string) string {
	const base, tmin, tmax, skew, damp, initialBias, initialN = 36, 1, 26, 38, 700, 72, 128
	runes := []rune(label)
	var out []byte
	for _, r := range runes {
		if r < initialN {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	adapt := func(delta, points int, first bool) int {
		if first {
			delta /= damp
		} else {
			delta /= 2
		}
		delta += delta / points
		k := 0
		for ; delta > (base-tmin)*tmax/2; k += base {
			delta /= base - tmin
		}
		return k + (base-tmin+1)*delta/(delta+skew)
	}
	n, delta, bias, done := rune(initialN), 0, initialBias, basic
	for done < len(runes) {
		next := rune(unicode.MaxRune)
		for _, r := range runes {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range runes {
			switch {
			case r < n:
				delta++
			case r == n:
				q := delta
				for k := base; ; k += base {
					t := min(max(k-bias, tmin), tmax)
					if q < t {
						break
					}
					out = append(out, digit(t+(q-t)%(base-t)))
					q = (q - t) / (base - t)
				}
				out = append(out, digit(q))
				bias = adapt(delta, done+1, done == basic)
				delta = 0
				done++
			}
		}
		delta++
		n++
	}
	return string(out)
}

func digit(d int) byte {
	if d < 26 {
		return byte('a' + d)
	}
	return byte('0' + d - 26)
}
