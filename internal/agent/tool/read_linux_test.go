package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"sekisho/internal/fault"
)

func wide(s string, big bool) string {
	b := []byte{0xff, 0xfe}
	if big {
		b = []byte{0xfe, 0xff}
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

// proves A-TOOL-02, A-TOOL-07
func TestReadWhole(t *testing.T) {
	w := newWorld(t)
	w.deps.Limits.WholeReadBytes = 100
	for name, content := range map[string]string{
		"plain": "a\r\nb\n", "empty": "", "bom": "\xef\xbb\xbfhé", "le": wide("h😀\n", false), "be": wide("h😀\n", true),
		"nul": "a\x00b", "binary": "\x89PNG\xff\xfe", "half": "é"[:1], "limit": strings.Repeat("x", 100), "large": strings.Repeat("x", 101),
	} {
		w.write("app/"+name, content)
	}
	w.open()
	for _, tc := range []struct{ name, encoding, body, variant string }{
		{"plain", "utf-8", "a\r\nb\n", ""},
		{"empty", "utf-8", "", ""},
		{"bom", "utf-8-bom", "hé", ""},
		{"le", "utf-16le", "h😀\n", ""},
		{"be", "utf-16be", "h😀\n", ""},
		{"nul", "utf-8", "a\x00b", ""},
		{"limit", "utf-8", strings.Repeat("x", 100), ""},
		{"large", "", "", "use mode range"},
		{"binary", "", "", "not text"},
		{"half", "", "", "not text"},
		{"none", "", "", "no such file"},
		{"plain/x", "", "", "not a directory"},
		{".", "", "", "is a directory"},
	} {
		r := w.call("file_read", arg{"path": tc.name, "mode": "whole"})
		h, body := split(t, r)
		if tc.variant != "" {
			if r.OK || r.ErrorCode != fault.ToolFailed || !r.RetryAllowed || !strings.Contains(body, tc.variant) || r.TargetPath == "" || r.UserText == "" {
				t.Errorf("%s: got %+v, want a retryable failure saying %q", tc.name, r, tc.variant)
			}
			continue
		}
		sum := sha256.Sum256([]byte(w.read("app/" + tc.name)))
		if !r.OK || body != tc.body || h["encoding"] != tc.encoding || h["sha256"] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: got %v %q", tc.name, h, body)
		}
		if r.SideEffect {
			t.Errorf("%s: reading counts as a side effect", tc.name)
		}
	}
}

// proves A-TOOL-02
func TestReadRange(t *testing.T) {
	w := newWorld(t)
	w.deps.Limits.WholeReadBytes = 8
	w.write("app/f", "0123456789abcdef")
	w.write("app/bin", "\x00\xff\x1bab")
	w.open()
	for _, tc := range []struct {
		path          string
		start, length int
		body          string
		next          any
	}{
		{"f", 0, 4, "0123", 4.0},
		{"f", 4, 0, "456789ab", 12.0},
		{"f", 4, 99, "456789ab", 12.0},
		{"f", 12, 99, "cdef", nil},
		{"f", 16, 1, "", nil},
		{"bin", 0, 4, `\x00\xff\x1ba`, 4.0},
	} {
		r := w.call("file_read", arg{"path": tc.path, "mode": "range", "start": tc.start, "length": tc.length})
		h, body := split(t, r)
		if !r.OK || body != tc.body || h["next_start"] != tc.next {
			t.Errorf("%+v: got %v %q", tc, h, body)
		}
	}
	r := w.call("file_read", arg{"path": "f", "mode": "range", "start": 17})
	if r.OK || r.ErrorCode != fault.ToolFailed || !strings.Contains(r.Content, "16 bytes") {
		t.Errorf("beyond the end: %+v", r)
	}
}

// Ranges that follow next_start give the whole text, whatever their length and wherever characters begin.
//
// proves A-TOOL-02
func TestRangesJoin(t *testing.T) {
	w := newWorld(t)
	w.open()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aé語😀\n")), 0, 40, -1).Draw(rt, "text")
		raw := rapid.SampledFrom([]string{text, "\xef\xbb\xbf" + text, wide(text, false), wide(text, true)}).Draw(rt, "raw")
		w.write("app/f", raw)
		length := rapid.IntRange(1, 9).Draw(rt, "length")
		var got strings.Builder
		start := 0.0
		for range len(raw) + 2 {
			r := w.call("file_read", arg{"path": "f", "mode": "range", "start": start, "length": length})
			h, body := split(t, r)
			if !r.OK {
				rt.Fatalf("failed: %s", r.Content)
			}
			got.WriteString(body)
			next, more := h["next_start"].(float64)
			if !more {
				break
			}
			if next <= start {
				rt.Fatalf("no progress at %v", start)
			}
			start = next
		}
		if got.String() != text {
			rt.Fatalf("joined %q, want %q (length %d)", got.String(), text, length)
		}
	})
}

// A range that begins inside a character starts at the next one and says where.
//
// proves A-TOOL-02
func TestRangeInsideCharacter(t *testing.T) {
	w := newWorld(t)
	w.write("app/f", "a語b")
	h, body := split(t, w.open().call("file_read", arg{"path": "f", "mode": "range", "start": 2, "length": 3}))
	if body != "b" || h["start"] != 4.0 {
		t.Errorf("got %v %q", h, body)
	}
}

// proves A-TOOL-02
func TestReadMetadata(t *testing.T) {
	w := newWorld(t)
	path := w.write("app/f", "hello")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	w.open()
	h, body := split(t, w.call("file_read", arg{"path": path, "mode": "metadata"}))
	if body != "" || h["kind"] != "file" || h["size"] != 5.0 || h["mode"] != "-rw-r-----" || h["encoding"] != "utf-8" ||
		h["sha256"] != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("got %v", h)
	}
	if h, _ := split(t, w.call("file_read", arg{"path": w.ws, "mode": "metadata"})); h["kind"] != "directory" {
		t.Errorf("got %v", h)
	}
}

// proves A-TOOL-02
func TestRelativePathsNeedOneWorkspace(t *testing.T) {
	w := newWorld(t)
	w.write("app/f", "hello")
	w.write("second/f", "hello")
	w.policy.Roots = append(w.policy.Roots, w.root(w.base+"/second", "workspace", 1))
	r := w.open().call("file_read", arg{"path": "f", "mode": "whole"})
	if r.OK || r.ErrorCode != fault.ToolArgumentsInvalid || !strings.Contains(r.Content, w.ws) {
		t.Errorf("got %+v", r)
	}
}
