package charset

import "testing"

// proves A-TOOL-01
func TestSniff(t *testing.T) {
	for _, tc := range []struct {
		head string
		more bool
		want Encoding
	}{
		{"", false, UTF8}, {"text", false, UTF8}, {"a\x00", false, UTF8}, {"\xef\xbb\xbf", false, UTF8BOM},
		{"\xff\xfea\x00", false, UTF16LE}, {"\xfe\xff\x00a", false, UTF16BE}, {"a\x00b\x00\xff", false, Binary},
		{"語"[:2], true, UTF8}, {"語"[:2], false, Binary}, {"\xc0\xaf", false, Binary}, {"\xed\xa0\x80", false, Binary},
	} {
		if got := Sniff([]byte(tc.head), tc.more); got != tc.want {
			t.Errorf("sniff(%q, %v) = %s, want %s", tc.head, tc.more, got, tc.want)
		}
	}
}

func FuzzEncodings(f *testing.F) {
	f.Add([]byte("a\xe8\xaa\x9eb"), int64(1), int64(2))
	f.Add([]byte("\xff\xfe\x3d\xd8\x00\xde"), int64(2), int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, start, want int64) {
		if start < 0 || start > int64(len(raw)) || want < 1 || want > 1<<20 {
			return
		}
		enc := Sniff(raw, false)
		b := raw[start:min(int64(len(raw)), start+want+3)]
		at, got := enc.Cut(b, start, want)
		if at < start || at > start+1 && enc.Wide() || at > start+3 || at+int64(len(got)) > int64(len(raw)) {
			t.Fatalf("range [%d, +%d) of %d bytes became [%d, +%d)", start, want, len(raw), at, len(got))
		}
		if at+int64(len(got)) == start && start < int64(len(raw)) {
			t.Fatal("no progress")
		}
		if string(raw[at:at+int64(len(got))]) != string(got) {
			t.Fatal("not the file's bytes")
		}
		enc.Decode(got)
	})
}
