package ask

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// proves R-INT-03
func TestArgv(t *testing.T) {
	for in, want := range map[string][]string{
		`ls -l`:                         {"ls", "-l"},
		`/bin/bash -lc 'touch a && b'`:  {"/bin/bash", "-lc", "touch a && b"},
		`a 'it'"'"'s' "x \" y" b\ c ''`: {"a", "it's", `x " y`, "b c", ""},
		"bash -c 'one\ntwo'":            {"bash", "-c", "one\ntwo"},
		`a | b`:                         nil,
		`a; b`:                          nil,
		`a $(b)`:                        nil,
		`a "$b"`:                        nil,
		`'open`:                         nil,
		`"open`:                         nil,
		`a \`:                           nil,
		``:                              nil,
	} {
		got, ok := argv(in)
		if ok != (want != nil) || ok && !cmp.Equal(want, got) {
			t.Errorf("%s: %q, %v", in, got, ok)
		}
	}
}
