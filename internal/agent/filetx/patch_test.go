package filetx

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func encoded(enc encoding, s string) string { return string(document{enc, s}.bytes()) }

// proves A-TOOL-10, A-TOOL-03
func TestPatch(t *testing.T) {
	sjis := "\x83\x5c = \x5c\n" // a two-byte character whose second byte is a backslash, then a backslash
	for _, c := range []struct {
		name, file, old, new, want string
		err                        error
	}{
		{"plain", "a\nb\nc\n", "b", "B", "a\nB\nc\n", nil},
		{"to nothing", "a\nb\nc\n", "b\n", "", "a\nc\n", nil},
		{"whole file", "a", "a", "", "", nil},
		{"CRLF file, LF patch", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n", nil},
		{"LF file, CRLF patch", "a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n", nil},
		{"CRLF file, new lines at a place without one", "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", nil},
		{"mixed file keeps the rest", "a\r\nb\nc\r\nd\n", "b", "B", "a\r\nB\nc\r\nd\n", nil},
		{"mixed file, match over both", "a\r\nb\nc\n", "a\nb\nc", "x", "x\n", nil},
		{"begins at a line end", "a\r\nb", "\nb", "\nc", "a\r\nc", nil},
		{"ends at a line end", "a\r\nb", "a\n", "c\n", "c\r\nb", nil},
		{"lone CR stays", "a\rb\n", "b", "c", "a\rc\n", nil},
		{"no match", "abc", "x", "y", "", errNoMatch},
		{"two matches", "a b a", "a", "y", "", errAmbiguous},
		{"overlapping matches", "aaa", "aa", "b", "", errAmbiguous},
		{"matches that differ in line ends", "a\nb\na\r\nb\n", "a\nb", "x", "", errAmbiguous},
		{"empty file", "", "x", "y", "", errNoMatch},
		{"BOM", "\xef\xbb\xbfé = 1\n", "é = 1", "ü = 2", "\xef\xbb\xbfü = 2\n", nil},
		{"UTF-16 LE", encoded(utf16LE, "é\r\n😀\r\n"), "😀\n", "x\n", encoded(utf16LE, "é\r\nx\r\n"), nil},
		{"UTF-16 BE", encoded(utf16BE, "日本\n"), "日", "😀", encoded(utf16BE, "😀本\n"), nil},
		{"Latin-1, ASCII patch", "na\xefve = 1\n", "= 1", "= 2", "na\xefve = 2\n", nil},
		{"Latin-1, other patch", "na\xefve = 1\n", "= 1", "= é", "", errEncoding},
		{"Shift JIS, second byte", "\x83\x5c", "\\", "/", "", errEncoding},
		{"Shift JIS, second byte and real one", sjis, "\\", "/", "", errAmbiguous},
		{"broken UTF-16", "\xff\xfea", "a", "b", "\xff\xfeb", errEncoding},
	} {
		got, err := applyPatch([]byte(c.file), c.old, c.new)
		if !errors.Is(err, c.err) || err == nil && string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, err, c.want, c.err)
		}
	}
}

// proves A-TOOL-10
func TestMalformedPatch(t *testing.T) {
	for in, want := range map[string]error{
		`{"old_text":"a","new_text":"b"}`:                      nil,
		`{"old_text":"a","new_text":""}`:                       nil,
		`{"old_text":"","new_text":"b"}`:                       errEmptyOld,
		`{"old_text":"a"}`:                                     errMalformed,
		`{"old_text":"a","new_text":null}`:                     errMalformed,
		`{"old_text":"a","new_text":1}`:                        errMalformed,
		`{"old_text":"a","new_text":"b","x":1}`:                errMalformed,
		`{"Old_text":"a","new_text":"b"}`:                      errMalformed,
		`{"old_text":"a","new_text":"b","old_text":"c"}`:       errMalformed,
		`{"old_text":"a","new_text":"b"} {}`:                   errMalformed,
		`[]`:                                                   errMalformed,
		``:                                                     errMalformed,
		"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n":              errDiff,
		"*** Begin Patch\n":                                    errDiff,
		`{"old_text":"\ud800","new_text":"b"}`:                 errMalformed,
		"{\"old_text\":\"\xff\",\"new_text\":\"b\"}":           errMalformed,
		strings.Repeat("[", 1000):                              errMalformed,
		`{"old_text":"` + strings.Repeat("a", maxPatch) + `"}`: errMalformed,
	} {
		_, _, err := parsePatch(in)
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("parsePatch(%.60q) = %v, want %v", in, err, want)
		}
	}
}

// proves A-TOOL-03
func TestRewriteKeepsTheForm(t *testing.T) {
	for _, c := range []struct{ name, old, content, want string }{
		{"plain", "a\n", "b\nc\n", "b\nc\n"},
		{"CRLF", "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"},
		{"LF", "a\nb\n", "x\r\ny\r\n", "x\ny\n"},
		{"mixed old", "a\r\nb\n", "x\ny\n", "x\ny\n"},
		{"mixed new", "a\r\n", "x\ny\r\n", "x\ny\r\n"},
		{"BOM", "\xef\xbb\xbfa", "b", "\xef\xbb\xbfb"},
		{"BOM given again", "\xef\xbb\xbfa", "\ufeffb", "\xef\xbb\xbfb"},
		{"UTF-16", encoded(utf16BE, "a\r\n"), "é\n", encoded(utf16BE, "é\r\n")},
		{"empty", "", "é\r\n", "é\r\n"},
		{"Latin-1", "\xe9", "abc", "abc"},
		{"Latin-1, not ASCII", "\xe9", "é", "refused"},
	} {
		got, ok := rewrite([]byte(c.old), c.content)
		if !ok {
			got = []byte("refused")
		}
		if string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Whatever the file, a patch changes the bytes of the one match and no other; and what it puts there reads back.
//
// proves A-TOOL-10, A-TOOL-03
func TestPatchTouchesOnlyTheMatch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.StringOfN(rapid.SampledFrom([]rune("ab\n\ré日😀")), 0, 8, -1)
		head, tail := part.Draw(rt, "head"), part.Draw(rt, "tail")
		middle := rapid.SampledFrom([]string{"<M>", "<\r\nM>", "<\nM>\n", "\n<M"}).Draw(rt, "middle")
		enc := rapid.SampledFrom([]encoding{plainUTF8, markedUTF8, utf16LE, utf16BE}).Draw(rt, "encoding")
		replacement := rapid.SampledFrom([]string{"", "x", "x\ny", "é\r\n", "😀"}).Draw(rt, "replacement")
		if strings.HasSuffix(head, "\r") && strings.HasPrefix(middle, "\n") {
			head += "." // else the two are one line end
		}
		if strings.HasSuffix(middle, "\r") && strings.HasPrefix(tail, "\n") {
			tail = "." + tail
		}
		file := document{enc, head + middle + tail}.bytes()
		got, err := applyPatch(file, withEndings(middle, lf), replacement)
		if err != nil {
			rt.Fatalf("%q in %q: %v", middle, file, err)
		}
		d := read(got)
		if d.enc != enc || !strings.HasPrefix(d.text, head) || !strings.HasSuffix(d.text, tail) {
			rt.Fatalf("%q became %q in encoding %d", file, d.text, d.enc)
		}
		if between := d.text[len(head) : len(d.text)-len(tail)]; withEndings(between, lf) != withEndings(replacement, lf) {
			rt.Fatalf("put %q instead of %q", between, replacement)
		}
	})
}

func FuzzPatch(f *testing.F) {
	f.Add(`{"old_text":"a","new_text":"b"}`, []byte("a\r\n"))
	f.Add(`{"old_text":"\n","new_text":"\r\n"}`, []byte("\xff\xfea\x00\n\x00"))
	f.Add("--- a\n", []byte{})
	f.Fuzz(func(t *testing.T, patch string, file []byte) {
		oldText, newText, err := parsePatch(patch)
		if err != nil {
			return
		}
		before := bytes.Clone(file)
		got, err := applyPatch(file, oldText, newText)
		if !bytes.Equal(file, before) {
			t.Fatal("the old bytes changed")
		}
		if err != nil {
			return
		}
		if read(file).enc != unknown && read(got).enc != read(file).enc && len(got) > 0 {
			t.Fatalf("encoding %d became %d", read(file).enc, read(got).enc)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\r\n", "\xff\xfea\x00", "\xff\xfe\x00\xd8", "\xef\xbb\xbf", "\xff", "\xff\xfe\x00\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := read(b).bytes(); !bytes.Equal(got, b) {
			t.Fatalf("%x reads and writes as %x", b, got)
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"task_id":"t","created_at":"2026-01-01T00:00:00Z","operation":"mkdir","places":[{"path":"/w/a","root":{"path":"/w","rights":15,"origins":[],"id":{"dev":1,"ino":2}},"parent":{"dev":1,"ino":2}}]}`))
	f.Add([]byte(`{"schema_version":1,"task_id":"t","operation":"write","places":[{"path":"/w/../a","root":{"path":"/w"}}],"temp":"../x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r record
		if json.Unmarshal(b, &r) != nil || checkRecord(nil, &r) != nil {
			return
		}
		for _, p := range r.Places {
			if !strings.HasPrefix(p.Path, p.Root.Path+"/") || strings.Contains(p.Path, "/../") {
				t.Fatalf("accepted the place %q of root %q", p.Path, p.Root.Path)
			}
		}
		for _, n := range []string{r.Temp, r.Restore, r.Backup} {
			if strings.Contains(n, "/") {
				t.Fatalf("accepted the name %q", n)
			}
		}
	})
}
