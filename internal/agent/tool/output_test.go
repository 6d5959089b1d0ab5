package tool

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// proves A-TOOL-04
func TestOutputKeepsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o output
		var all []byte
		for i := range rapid.IntRange(0, 8).Draw(t, "writes") {
			p := bytes.Repeat([]byte{byte('a' + i)}, rapid.IntRange(0, 50_000).Draw(t, "size"))
			all = append(all, p...)
			if n, err := o.Write(p); n != len(p) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		if o.total != int64(len(all)) {
			t.Fatalf("counted %d of %d bytes", o.total, len(all))
		}
		if got := len(o.head) + len(o.tail); got > streamBytes {
			t.Fatalf("kept %d bytes", got)
		}
		got := o.text()
		if len(all) <= streamBytes {
			if got != string(all) || o.truncated() {
				t.Fatalf("a short stream was changed: %d of %d bytes", len(got), len(all))
			}
			return
		}
		half := streamBytes / 2
		if !o.truncated() || !strings.HasPrefix(got, string(all[:half])) || !strings.HasSuffix(got, string(all[len(all)-half:])) {
			t.Fatal("head or tail is not what was written first and last")
		}
		if !strings.Contains(got, "bytes left out") {
			t.Fatal("no note about the gap")
		}
	})
}

// proves A-TOOL-04
func TestOutputEscapes(t *testing.T) {
	var o output
	o.Write([]byte("ok \\ 日本\r\n\x1b[31mred\xff\x00\u202e\tend\r"))
	if got, want := o.text(), "ok \\ 日本\n\\x1b[31mred\\xff\\x00\\u{202e}\tend\\r"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A character that the cut divides is not shown as garbage on either side.
//
// proves A-TOOL-04
func TestOutputCutsBetweenCharacters(t *testing.T) {
	var o output
	o.Write([]byte("x" + strings.Repeat("語", streamBytes) + "yy"))
	if got := o.text(); strings.Contains(got, `\x`) {
		t.Error("a divided character was escaped")
	}
}
