package rootio

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// proves A-TOOL-03
func TestAttributesAreReadWithinTheirLimit(t *testing.T) {
	v := newWorld(t)
	must(t, os.WriteFile(v.w+"/f", nil, 0o600))
	for name, value := range map[string]string{"user.a": "12345", "user.b": ""} {
		must(t, unix.Setxattr(v.w+"/f", name, []byte(value), 0))
	}
	f := target(t, newSet(t, v.roots(t)...), v.w+"/f", Existing)
	got, err := f.Attributes()
	must(t, err)
	if diff := cmp.Diff(Attributes{"user.a": []byte("12345"), "user.b": nil}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := f.attributes(17); err != nil {
		t.Error(err)
	}
	if _, err := f.attributes(16); !errors.Is(err, ErrAttributes) {
		t.Errorf("beyond the limit: %v", err)
	}
}
