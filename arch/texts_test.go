package arch

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sekisho/internal/fault"
)

func texts(t *testing.T, lang string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), "config", "locales", lang+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]string
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%s: %v", lang, err)
	}
	return m
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

func placeholders(s string) []string {
	found := placeholder.FindAllString(s, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// proves A-LOC-01
func TestLocalesAgree(t *testing.T) {
	en, ja := texts(t, "en"), texts(t, "ja")
	for key, text := range en {
		other, ok := ja[key]
		if !ok {
			t.Errorf("ja lacks %s", key)
			continue
		}
		if got, want := placeholders(other), placeholders(text); !slices.Equal(got, want) {
			t.Errorf("%s: ja has the placeholders %v, en %v", key, got, want)
		}
		if strings.TrimSpace(text) == "" || strings.TrimSpace(other) == "" {
			t.Errorf("%s is empty", key)
		}
	}
	for key := range ja {
		if _, ok := en[key]; !ok {
			t.Errorf("en lacks %s", key)
		}
	}
}

// proves A-ERR-01
func TestEveryCodeHasSentenceAndRemedy(t *testing.T) {
	en := texts(t, "en")
	used := map[string]bool{}
	for _, code := range fault.Codes() {
		info, _ := fault.Lookup(code)
		for _, v := range append([]string{""}, info.Variants...) {
			e := fault.New(code, fault.Variant(v))
			for _, key := range []string{e.SentenceKey(), e.RemedyKey()} {
				used[key] = true
				if en[key] == "" {
					t.Errorf("the catalogue's %s has no text %s", code, key)
				}
			}
		}
	}
	for key := range en {
		if (strings.HasPrefix(key, "error.") || strings.HasPrefix(key, "remedy.")) && !used[key] {
			t.Errorf("text %s belongs to no code of the catalogue", key)
		}
	}
}

// Every other text is named literally somewhere in product code, and every literal that looks like a text key exists.
func TestTextsAreUsed(t *testing.T) {
	en := texts(t, "en")
	literals := map[string]bool{}
	var prefixes []string
	for _, f := range product(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					literals[s] = true
					if strings.HasSuffix(s, ".") && len(s) > 3 {
						prefixes = append(prefixes, s)
					}
				}
			}
			return true
		})
	}
	for key := range en {
		if strings.HasPrefix(key, "error.") || strings.HasPrefix(key, "remedy.") || literals[key] {
			continue
		}
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			t.Errorf("no product code names the text %s", key)
		}
	}
}
