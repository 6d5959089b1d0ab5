// Package locale holds the texts that people read: flat key → text with {placeholder}, one JSON file per language
// (A-LOC-01).
//
// The English texts that are compiled in are the baseline. A language file may leave keys out (the baseline's text is used)
// but may neither add keys nor use other placeholders: either is a mistake that would show only in a rare message.
// Values that are put into a text pass through visible.Escape, because most of them come from outside. This is the one place
// that escapes them: who shows a text on one line uses visible.Clip, which leaves these escapes as they are.
package locale

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"sekisho/internal/fault"
	"sekisho/internal/visible"
)

// English is the name of the baseline's language.
const English = "en"

// Texts is the content of one language file.
type Texts map[string]string

// Catalogue answers in one language. It is safe for concurrent use.
type Catalogue struct {
	name     string
	texts    Texts
	baseline Texts
}

// New returns the catalogue of texts over an English baseline. The caller has checked texts with Check.
func New(name string, texts, baseline Texts) *Catalogue {
	return &Catalogue{name: name, texts: texts, baseline: baseline}
}

// Name is the language, such as "ja".
func (c *Catalogue) Name() string { return c.name }

// Keys returns the baseline's keys in order.
func (c *Catalogue) Keys() []string { return slices.Sorted(maps.Keys(c.baseline)) }

// Text returns the text of key with its placeholders filled. A key that the language does not have is answered in English,
// and an unknown one by itself. A placeholder without a value stays as it is written.
func (c *Catalogue) Text(key string, args map[string]string) string {
	text, ok := c.texts[key]
	if !ok {
		if text, ok = c.baseline[key]; !ok {
			return key
		}
	}
	return fill(text, args)
}

// Has reports whether key has a text of its own in the language or in English.
func (c *Catalogue) Has(key string) bool {
	_, own := c.texts[key]
	_, english := c.baseline[key]
	return own || english
}

// Error returns what happened and what to do about it.
func (c *Catalogue) Error(e *fault.Error) (sentence, remedy string) {
	return c.Text(e.SentenceKey(), e.Args), c.Text(e.RemedyKey(), e.Args)
}

// sentenceEnds are the characters after which a text needs no other end.
const sentenceEnds = ".!?:;…。！？：；"

// Join puts sentences one after the other as the language does: each but the last ends, with a full stop if it has no end
// of its own, and what stands between two of them is the language's too. Empty ones are left out.
func (c *Catalogue) Join(sentences ...string) string {
	// A full stop, and what follows it before the next sentence.
	between := c.Text("sentence.between", nil)
	_, stop := utf8.DecodeRuneInString(between)
	out := ""
	for _, s := range sentences {
		s = strings.TrimSpace(s)
		switch {
		case s == "":
			continue
		case out != "":
			// A closing quote or bracket may follow the end.
			if last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(out, `"')]}」』）`)); !strings.ContainsRune(sentenceEnds, last) {
				out += between[:stop]
			}
			out += between[stop:]
		}
		out += s
	}
	return out
}

// fill replaces each {name} once, from left to right; a value is never scanned for placeholders again.
func fill(text string, args map[string]string) string {
	var b strings.Builder
	for {
		before, name, after, ok := nextPlaceholder(text)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if v, given := args[name]; given {
			b.WriteString(visible.Escape(v))
		} else {
			b.WriteString("{" + name + "}")
		}
		text = after
	}
}

// nextPlaceholder splits text at its first {name}; a brace that begins no name is plain text.
func nextPlaceholder(text string) (before, name, after string, ok bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != '{' {
			continue
		}
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			break
		}
		if n := text[i+1 : i+end]; isName(n) {
			return text[:i], n, text[i+end+1:], true
		}
	}
	return text, "", "", false
}

func isName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return s != ""
}

// Placeholders returns the names in a text, sorted, each once.
func Placeholders(text string) []string {
	names := map[string]bool{}
	for {
		_, name, after, ok := nextPlaceholder(text)
		if !ok {
			return slices.Sorted(maps.Keys(names))
		}
		names[name] = true
		text = after
	}
}
