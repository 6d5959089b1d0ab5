package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// Whatever a child writes comes out as its lines, none above the limit, and the rest of a line is never taken for another.
//
// proves R-CONN-09
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "{}\n", "a\r\nb\n\n\nc", "\n\r\n", "0123456789abcdef0\nx\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &stdioConn{opts: ChildOptions{Limits: Limits{Inbound: 32}.withDefaults()}, reader: bufio.NewReaderSize(bytes.NewReader(data), 16)}
		rest := data
		for {
			line, err := c.line()
			end := bytes.IndexByte(rest, '\n')
			switch {
			case errors.Is(err, errTooLarge):
				if end >= 0 {
					rest = rest[:end]
				}
				if len(bytes.TrimRight(rest, "\r\n")) <= 32 && !bytes.Contains(rest, []byte("\r")) {
					t.Fatalf("a line of %d bytes is refused", len(rest))
				}
				return
			case err != nil:
				if err != io.EOF || end >= 0 {
					t.Fatalf("%v with %q left", err, rest)
				}
				return
			}
			if want := bytes.TrimRight(rest[:end], "\r"); !bytes.Equal(line, want) || len(line) > 32 {
				t.Fatalf("got %q, want %q", line, want)
			}
			rest = rest[end+1:]
		}
	})
}

// An address that is accepted is encrypted or leads to this machine, and holds no secret.
//
// proves R-CONN-05
func FuzzAddresses(f *testing.F) {
	for _, s := range []string{"wss://h:1/p", "ws://127.0.0.1:1", "ws://[::ffff:127.0.0.1]:1", "ws://localhost", "wss://u@h", "ws://h", "wss://h?q", "wss://h#f", "wss://%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		target, err := Endpoint{URL: address}.target()
		if err != nil {
			if ClassOf(err) != Config {
				t.Fatalf("%q: %v", address, err)
			}
			return
		}
		u := target.url
		if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Hostname() == "" || u.Scheme != "wss" && (u.Scheme != "ws" || !target.local) {
			t.Fatalf("accepted %q", address)
		}
	})
}

// A token file yields what can stand in a header, or an error that does not quote it.
//
// proves R-PRI-07
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "abc", "abc\n", "a b", "a\nb", "é", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := t.TempDir() + "/token"
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		secret, err := Endpoint{TokenFile: path}.token()
		if err != nil {
			if len(data) > 8 && bytes.Contains([]byte(err.Error()), data) {
				t.Fatalf("the error quotes the file: %v", err)
			}
			return
		}
		for _, b := range []byte(secret.Reveal()) {
			if b <= ' ' || b >= 0x7f {
				t.Fatalf("accepted %q", data)
			}
		}
	})
}
