package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sekisho/internal/redact"
	"sekisho/internal/relay/uicontract"
)

// proves R-UI-04
func TestContractIsUpToDate(t *testing.T) {
	problems, err := renderProblems()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"contract.ts": render(), "text/problems.ts": problems} {
		committed, err := os.ReadFile(filepath.Join("..", "..", "web", "src", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(committed) != want {
			t.Errorf("web/src/%s is out of date: go generate ./internal/relay/uicontract", name)
		}
	}
}

// proves R-PRI-07, R-UI-03
func TestNoSecretInContract(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(t *testing.T, typ reflect.Type, at string)
	walk = func(t *testing.T, typ reflect.Type, at string) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t, typ.Elem(), at)
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] {
			return
		}
		seen[typ] = true
		if typ == reflect.TypeFor[redact.Secret]() {
			t.Errorf("%s is a secret", at)
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				t.Errorf("%s.%s has no name in the contract", at, f.Name)
			}
			for _, word := range []string{"token", "secret", "password", "challenge", "session"} {
				if strings.Contains(strings.ToLower(name), word) && f.Type.Kind() == reflect.String {
					t.Errorf("%s.%s: a text called %q", at, f.Name, name)
				}
			}
			walk(t, f.Type, at+"."+f.Name)
		}
	}
	for _, shape := range append(uicontract.Commands(), uicontract.Events()...) {
		walk(t, shape.Params, shape.Name)
		if shape.Result != nil {
			walk(t, shape.Result, shape.Name+" result")
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
