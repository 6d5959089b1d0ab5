package ask

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/relay/codex"
)

// The page judges a form before the worker does; its test takes the same vectors (web/test/judge.test.ts).
//
// proves R-INT-04
func TestFormVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "form.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name  string
		Field struct {
			Kind, Format         string
			MinLength, MaxLength *int64
			Minimum, Maximum     *float64
			MinItems, MaxItems   *int64
		}
		Value json.RawMessage
		Fault string
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 50 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		f := codex.Field{Kind: codex.FieldKind(v.Field.Kind), Format: v.Field.Format, MinLength: v.Field.MinLength, MaxLength: v.Field.MaxLength,
			Minimum: v.Field.Minimum, Maximum: v.Field.Maximum, MinItems: v.Field.MinItems, MaxItems: v.Field.MaxItems}
		for i := range 3 {
			f.Choices = append(f.Choices, codex.Choice{Value: strconv.Itoa(i)})
		}
		_, err := fieldValue("field", f, v.Value)
		got := ""
		if err != nil {
			got = fault.As(err).Variant
		}
		if got != v.Fault {
			t.Errorf("%s: %q, want %q", v.Name, got, v.Fault)
		}
	}
}
