package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	shipped "sekisho/config"
)

// told are the codes that reach a front end (R-ERR-01).
var told = regexp.MustCompile(`^(error|remedy)\.(connection|codex|call|request|answer|relay)\.`)

// renderProblems writes the sentences and remedies of those codes in both languages, so that a page can show a Problem in its
// own language instead of the worker's. Keys are those of config/locales.
func renderProblems() (string, error) {
	var b strings.Builder
	b.WriteString("// Generated from config/locales by go generate ./internal/relay/uicontract. Do not edit.\n\n")
	for _, name := range []string{"en", "ja"} {
		data, err := fs.ReadFile(shipped.Locales(), name+".json")
		if err != nil {
			return "", err
		}
		var texts map[string]string
		if err := json.Unmarshal(data, &texts); err != nil {
			return "", fmt.Errorf("locale %s: %w", name, err)
		}
		var keys []string
		for k := range texts {
			if told.MatchString(k) {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		fmt.Fprintf(&b, "export const %s: Readonly<Record<string, string>> = {\n", name)
		for _, k := range keys {
			text, err := json.Marshal(texts[k])
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "  %q: %s,\n", k, text)
		}
		b.WriteString("};\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
