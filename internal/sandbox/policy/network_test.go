package policy

import (
	"strings"
	"testing"
)

// proves A-POL-06
func TestCanonicalHost(t *testing.T) {
	for in, want := range map[string]string{
		"GOOD.com.": "good.com", "good.com": "good.com", "localhost": "localhost", "xn--bcher-kva.example": "xn--bcher-kva.example", "a-b.1c": "a-b.1c",
		"127.0.0.1": "127.0.0.1", "127.0.0.1.": "127.0.0.1", "[::1]": "::1", "::1": "::1", "2001:DB8:0::1": "2001:db8::1", "::ffff:10.0.0.1": "10.0.0.1",
		"": "!", ".": "!", "..": "!", "a..b": "!", "good.com..": "!", "evil\x00.good.com": "!", " good.com": "!", "good.com ": "!", "good.com\n": "!",
		"0x7f.1": "!", "127.1": "!", "017.0.0.1": "!", "2130706433": "!", "0x7f000001": "!", "1.2.3.4.5": "!", "0x": "!", "a.0X1f": "!", "127.0.0.1..": "!",
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example.": "xn--bcher-kva.example", "例え.jp": "xn--r8jz45g.jp", "xn--a.com": "!", "xn--zzzzzzz99999.com": "!", "faß.de": "xn--fa-hia.de", "a\u200db.com": "!", "ⅷ.com": "!", "٣.com": "!", "ｇood.com": "!", "good。com": "!", "*.good.com": "!", "https://good.com": "!", "good.com:443": "!", "udp/53": "!",
		"fe80::1%eth0": "!", "[good.com]": "!", "[1.2.3.4]": "!", "-a.com": "!", "a-.com": "!", "a_b.com": "!", "user@good.com": "!",
		strings.Repeat("a", 64) + ".com": "!", strings.Repeat("a.", 127) + "b": "!", // 255 bytes
	} {
		got, err := CanonicalHost(in)
		if err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("CanonicalHost(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzCanonicalHost(f *testing.F) {
	for _, s := range []string{"GOOD.com.", "0x7f.1", "127.1", "[::1]", "::ffff:1.2.3.4", "a\x00b", "é.com"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := CanonicalHost(s)
		if err != nil {
			return
		}
		again, err := CanonicalHost(got)
		if err != nil || again != got {
			t.Fatalf("CanonicalHost(%q) = %q, and of that %q, %v", s, got, again, err)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r > 0x7f }) || strings.ContainsAny(got, "\x00 /%[]*@_\n") || got != strings.ToLower(got) {
			t.Fatalf("CanonicalHost(%q) = %q", s, got)
		}
	})
}
