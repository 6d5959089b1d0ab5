package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	shipped "sekisho/config"
	"sekisho/internal/locale"
	"sekisho/internal/yamltree"
)

// compiledIn returns the compiled-in texts of a language, English when there are none.
func compiledIn(name string) *locale.Catalogue {
	baseline, err := locale.Parse(shipped.English())
	if err != nil { // cannot happen: a test parses what is shipped
		panic(err)
	}
	c, _, err := locale.Load(shipped.Locales(), baseline, name)
	if err != nil {
		return locale.New(locale.English, baseline, baseline)
	}
	return c
}

// CompiledIn returns the texts of a shipped language, for use before a configuration was read; English for an unknown one.
func CompiledIn(name string) *locale.Catalogue { return compiledIn(name) }

// localization checks every language file of the directory against the compiled-in English baseline and picks
// application.language (A-LOC-01). When the default directory is missing, the compiled-in texts, which are the shipped
// ones, take its place; a configured one must exist.
func (s *sections) localization(m *yamltree.Section, language yamltree.Value) {
	defer m.Done()
	dir := m.Key("directory")
	m.Key("fallback").Enum(locale.English, locale.English)
	name := language.Text(locale.English)
	s.c.Language = name
	files, path := s.languageFiles(dir)
	if files == nil {
		s.texts.Locale = compiledIn(name)
		return
	}
	catalogue, names, err := locale.Load(files, s.baseline(), name)
	if err == nil {
		s.texts.Locale = catalogue
		return
	}
	s.texts.Locale = compiledIn(name)
	if errors.Is(err, locale.ErrUnknown) {
		if language.Node() == nil || language.Node().Kind == yamltree.String {
			language.Fail(yamltree.T("config.language_unknown", "value", name),
				yamltree.T("yaml.accepts.one_of", "values", strings.Join(names, ", ")))
		}
		return
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		dir.Fail(fileText(path, err), yamltree.Text{})
		return
	}
	for _, e := range joined.Unwrap() {
		var fe locale.FileError
		if errors.As(e, &fe) {
			s.reader.Report(yamltree.Problem{Pos: yamltree.Pos{File: filepath.Join(path, fe.File)},
				Text: yamltree.Text{Key: fe.Text, Args: fe.Args}})
		}
	}
}

// languageFiles returns the directory of languages with its path, or nil when a problem was recorded.
func (s *sections) languageFiles(v yamltree.Value) (fs.FS, string) {
	configured := s.path(v)
	path := configured.Abs
	if path == "" {
		if path = s.beside("config", "locales"); v.Present() {
			return nil, path // the value itself is wrong
		}
	}
	info, err := os.Stat(path)
	switch {
	case path == "" || configured.Abs == "" && errors.Is(err, fs.ErrNotExist):
		return shipped.Locales(), path
	case err != nil:
		v.Fail(fileText(path, err), yamltree.Text{})
		return nil, path
	case !info.IsDir():
		v.Fail(fileText(path, errNotDirectory), yamltree.Text{})
		return nil, path
	}
	s.c.Localization.Directory = path
	return os.DirFS(path), path
}

func (s *sections) baseline() locale.Texts {
	t, err := locale.Parse(shipped.English())
	if err != nil { // cannot happen: a test parses what is shipped
		panic(err)
	}
	return t
}
