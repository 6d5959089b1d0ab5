package visible

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The page escapes in TypeScript what arrives raw; its test takes the same vectors (web/test/visible.test.ts).
//
// proves R-INT-08
func TestVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "escapes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Name, In, Out string }
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 20 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		if got := Escape(v.In); got != v.Out {
			t.Errorf("%s: %q gives %q, want %q", v.Name, v.In, got, v.Out)
		}
	}
}
