package locale

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sekisho/internal/strictjson"
)

// maxBytes bounds one language file.
const maxBytes = 1 << 20

var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$`) })

// ErrUnknown reports a language that the directory has no file for.
var ErrUnknown = errors.New("no such language")

// Parse decodes one language file.
func Parse(data []byte) (Texts, error) {
	var raw map[string]*string // null is no text
	if err := strictjson.Unmarshal(data, maxBytes, &raw); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, errors.New("not an object of texts")
	}
	t := make(Texts, len(raw))
	for key, text := range raw {
		if text == nil {
			return nil, fmt.Errorf("%q has no text", key)
		}
		t[key] = *text
	}
	return t, nil
}

// FileError is one thing wrong with a language file. Text and Args are a message in the terms of this package's own texts.
type FileError struct {
	File string // its name in the directory
	Text string // locale key: locale.malformed, locale.unknown_key, locale.placeholders or locale.file_name
	Args map[string]string
}

// Error is the form for logs.
func (e FileError) Error() string { return fmt.Sprintf("%s: %s %v", e.File, e.Text, e.Args) }

// Check compares a language with the baseline and returns every unknown key and every text whose placeholders differ.
func Check(file string, t, baseline Texts) []FileError {
	var found []FileError
	for _, key := range slices.Sorted(maps.Keys(t)) {
		english, ok := baseline[key]
		own, want := Placeholders(t[key]), Placeholders(english)
		switch {
		case !ok:
			found = append(found, FileError{file, "locale.unknown_key", map[string]string{"key": key}})
		case !slices.Equal(own, want):
			found = append(found, FileError{file, "locale.placeholders",
				map[string]string{"key": key, "found": braced(own), "expected": braced(want)}})
		}
	}
	return found
}

func braced(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	return "{" + strings.Join(names, "} {") + "}"
}

// Load reads every language file of dir (a directory, or the compiled-in one), checks all of them against the baseline, and
// returns the catalogue of name together with the names of the languages found. A malformed file is a FileError (joined
// with others) even when its language is not the chosen one. A name without a file is ErrUnknown, except English, which
// the baseline always has.
func Load(dir fs.FS, baseline Texts, name string) (c *Catalogue, names []string, err error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, nil, err
	}
	all := map[string]Texts{English: {}}
	var errs []error
	for _, e := range entries {
		lang, isJSON := strings.CutSuffix(e.Name(), ".json")
		if !isJSON || e.IsDir() {
			continue
		}
		t, found := loadOne(dir, e.Name(), lang, baseline)
		for _, f := range found {
			errs = append(errs, f)
		}
		all[lang] = t
	}
	names = slices.Sorted(maps.Keys(all))
	if len(errs) > 0 {
		return nil, names, errors.Join(errs...)
	}
	texts, ok := all[name]
	if !ok {
		return nil, names, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	return New(name, texts, baseline), names, nil
}

func loadOne(dir fs.FS, file, lang string, baseline Texts) (Texts, []FileError) {
	if !namePattern().MatchString(lang) {
		return nil, []FileError{{file, "locale.file_name", nil}}
	}
	data, err := readRegular(dir, file)
	if err != nil {
		return nil, []FileError{{file, "locale.malformed", map[string]string{"detail": err.Error()}}}
	}
	t, err := Parse(data)
	if err != nil {
		return nil, []FileError{{file, "locale.malformed", map[string]string{"detail": err.Error()}}}
	}
	return t, Check(file, t, baseline)
}

func readRegular(dir fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(dir, file) // before opening: a named pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := dir.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("larger than %d bytes", maxBytes)
	}
	return data, nil
}
