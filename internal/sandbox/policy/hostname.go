package policy

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// Reasons why a text is no canonical host.
var (
	errHostEmpty   = errors.New("is empty or too long")
	errHostLetters = errors.New("has a character that no host name has")
	errHostLabel   = errors.New("has a label that is empty, too long, or begins or ends with a hyphen")
	errHostNumeric = errors.New("looks like a number or an address in an unusual form")
	errHostZone    = errors.New("has a zone")
	errHostIDN     = errors.New("is no international name, or not the one that it looks like")
)

// CanonicalHost returns the one form of a host (A-POL-06): an address as netip prints it (an IPv4-mapped one as IPv4), or a
// name in lower case, in its xn-- form, without a trailing dot. What a resolver would read in some other way is refused: odd
// numeric forms such as 0x7f.1, 127.1, 017.0.0.1 or 2130706433, NUL, white space, scheme, port, wildcard, and characters
// that only stand for others (fullwidth letters and dots).
func CanonicalHost(host string) (string, error) {
	literal := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		literal = host[1 : len(host)-1]
		if !strings.Contains(literal, ":") {
			return "", errHostLetters
		}
	}
	if a, err := netip.ParseAddr(literal); err == nil {
		if a.Zone() != "" {
			return "", errHostZone
		}
		return a.Unmap().String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return "", errHostEmpty
	}
	if a, err := netip.ParseAddr(name); err == nil && a.Is4() {
		return a.String(), nil // an address with a trailing dot
	}
	name, err := ascii(name)
	if err != nil {
		return "", err
	}
	if len(name) > 253 {
		return "", errHostEmpty
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if strings.ContainsFunc(l, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }) {
			return "", errHostLetters
		}
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return "", errHostLabel
		}
	}
	if numeric(labels[len(labels)-1]) {
		return "", errHostNumeric
	}
	return name, nil
}

// ascii turns an international name into the form that is looked up. A name that means another one than it shows is refused:
// the way back must lead to what was written.
func ascii(name string) (string, error) {
	if !strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f }) && !strings.Contains(name, "xn--") {
		return name, nil
	}
	encoded, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return "", errHostIDN
	}
	shown, err := idna.Lookup.ToUnicode(encoded)
	if err != nil || shown != name && encoded != name {
		return "", errHostIDN
	}
	return encoded, nil
}

// isLocalhost tells whether a canonical name is always this machine (RFC 6761).
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// numeric tells whether a resolver takes a last label for a number (WHATWG URL, "ends in a number"): decimal, octal or
// hexadecimal.
func numeric(label string) bool {
	if digits(label, "0123456789") {
		return true
	}
	rest, ok := strings.CutPrefix(label, "0x")
	return ok && digits(rest, "0123456789abcdef")
}

func digits(s, set string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(set, r) })
}
