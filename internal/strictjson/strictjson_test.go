package strictjson

import (
	"errors"
	"strings"
	"testing"
)

func TestUnmarshalRefuses(t *testing.T) {
	type doc struct {
		Path string `json:"path"`
	}
	for name, in := range map[string]string{
		"duplicate member": `{"path":"a","path":"b"}`,
		"wrong case":       `{"PATH":"a"}`,
		"unknown member":   `{"path":"a","x":1}`,
		"two values":       `{"path":"a"}{}`,
		"invalid UTF-8":    "{\"path\":\"\xff\"}",
		"trailing comma":   `{"path":"a",}`,
		"empty":            ``,
	} {
		var d doc
		if err := Unmarshal([]byte(in), 1000, &d); err == nil {
			t.Errorf("%s: accepted %q as %+v", name, in, d)
		}
	}
	var d doc
	if err := Unmarshal([]byte(`{"path":"a"}`), 12, &d); err != nil || d.Path != "a" {
		t.Errorf("good document: %+v, %v", d, err)
	}
	if err := Unmarshal([]byte(`{"path":"a"}`), 11, &d); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	var v any
	if err := Unmarshal([]byte(deep), 10000, &v); !errors.Is(err, ErrTooDeep) {
		t.Errorf("deep nesting: %v", err)
	}
}

func TestCanonicalIgnoresOrderAndSpace(t *testing.T) {
	a, err := Canonical([]byte(`{"b": 1.0, "a":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Canonical([]byte(`{"a":"x","b":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("%s != %s", a, b)
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := Canonical(data)
		if err != nil {
			return
		}
		twice, err := Canonical(once)
		if err != nil || string(once) != string(twice) {
			t.Errorf("not a fixed point: %q %q %v", once, twice, err)
		}
	})
}
