package ollama

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/redact"
)

// minMasked is the length of the shortest value that is masked. Masking shorter ones would tear every text apart, and they
// protect nothing.
const minMasked = 4

// mask takes the credential of one exchange out of what the other side says (A-OLL-09): a proxy's error text, or a reply,
// may repeat the request's headers, and both go to status, logs and the model. It masks the value, what follows its scheme
// word, and for Basic what that decodes to, also as URLs and quoted texts write them. A nil mask changes nothing.
type mask struct {
	replace *strings.Replacer
	find    []string
}

func newMask(value redact.Secret) *mask {
	v := strings.TrimSpace(value.Reveal())
	found := []string{v}
	if scheme, rest, ok := strings.Cut(strings.ReplaceAll(v, "\t", " "), " "); ok {
		rest = strings.TrimSpace(rest)
		found = append(found, rest)
		if plain, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(plain), ":")
			found = append(found, string(plain), password)
		}
	}
	var all, pairs []string
	for _, f := range found {
		if len(f) >= minMasked {
			quoted := strconv.Quote(f)
			all = append(all, f, url.QueryEscape(f), url.PathEscape(f), quoted[1:len(quoted)-1])
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // the replacer takes the first that fits
	all = slices.Compact(all)
	for _, f := range all {
		pairs = append(pairs, f, value.String())
	}
	return &mask{replace: strings.NewReplacer(pairs...), find: all}
}

// text masks s.
func (m *mask) text(s string) string {
	if m == nil || !m.in(s) {
		return s
	}
	return m.replace.Replace(s)
}

func (m *mask) in(s string) bool {
	return slices.ContainsFunc(m.find, func(f string) bool { return strings.Contains(s, f) })
}

// body masks a JSON text inside its strings, whatever escapes they use, and as plain text. What it does not change keeps
// its bytes.
func (m *mask) body(data []byte) []byte {
	if m == nil {
		return data
	}
	var out bytes.Buffer
	rest := data
	for {
		start := bytes.IndexByte(rest, '"')
		if start < 0 {
			break
		}
		end := literal(rest[start:])
		if end == 0 {
			break // no JSON from here on
		}
		out.Write(rest[:start])
		out.Write(m.literal(rest[start : start+end]))
		rest = rest[start+end:]
	}
	out.Write(rest)
	return []byte(m.text(out.String()))
}

// literal masks one JSON string. A string that itself holds JSON, as arguments do that some models write as text, is masked
// at both levels.
func (m *mask) literal(quoted []byte) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	masked := m.text(s)
	if strings.Contains(masked, `\`) && strings.Contains(masked, `"`) && len(masked) < len(quoted) {
		masked = string(m.body([]byte(masked)))
	}
	if masked == s {
		return quoted
	}
	again, err := json.Marshal(masked)
	if err != nil {
		panic("ollama: encoding a string: " + err.Error())
	}
	return again
}

// literal is the length of the JSON string at the beginning of data, or 0 when it has no end.
func literal(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// err hides the text of an error and keeps what it is.
func (m *mask) err(err error) error {
	if m == nil || err == nil || !m.in(err.Error()) {
		return err
	}
	return maskedError{err, m.text(err.Error())}
}

type maskedError struct {
	error
	text string
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.error }
