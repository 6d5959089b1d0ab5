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

	"sekisho/internal/strictjson"
)

// maxBytes bounds one language file.
const maxBytes = 1 << 20

var namePattern = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$`)

// ErrUnknown reports a language that the directory has no file for.
var ErrUnknown = errors.New("no such language")

// Parse decodes one language file.
func Parse(data []byte) (Texts, error) {
	var t Texts
	if err := strictjson.Unmarshal(data, maxBytes, &t); err != nil {
		return nil, err
	}
	if t == nil {
		return nil, errors.New("not an object of texts")
	}
	return t, nil
}

// Check compares a language with the baseline and returns every unknown key and every text whose placeholders differ.
func Check(t, baseline Texts) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(t)) {
		english, ok := baseline[key]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("unknown key %q", key))
		case !slices.Equal(Placeholders(t[key]), Placeholders(english)):
			errs = append(errs, fmt.Errorf("key %q: placeholders {%s}, English has {%s}", key,
				strings.Join(Placeholders(t[key]), "} {"), strings.Join(Placeholders(english), "} {")))
		}
	}
	return errors.Join(errs...)
}

// Load reads every language file of dir (a directory, or the compiled-in one), checks all of them against the baseline, and
// returns the catalogue of name. A malformed file is an error even when its language is not the chosen one. Names lists
// the languages found; a name without a file is ErrUnknown, except English, which the baseline always has.
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
		t, err := loadOne(dir, e.Name(), lang, baseline)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
			continue
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

func loadOne(dir fs.FS, file, lang string, baseline Texts) (Texts, error) {
	if !namePattern.MatchString(lang) {
		return nil, errors.New("the file's name is not a language name")
	}
	data, err := readRegular(dir, file)
	if err != nil {
		return nil, err
	}
	t, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return t, Check(t, baseline)
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
