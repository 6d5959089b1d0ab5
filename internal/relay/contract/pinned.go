package contract

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sekisho/internal/relay/codex"
	"sekisho/internal/strictjson"
)

// The tracked expectations. `make contract` fails when the generated schemas say something else; `make contract-update`
// rewrites them, and the change is reviewed like code.
var (
	//go:embed pinned.json
	pinnedJSON []byte
	//go:embed expected-standard.txt
	expectedStandard string
	//go:embed expected-experimental.txt
	expectedExperimental string
)

// Pinned maps version, direction and method to the fingerprint of the method's contract. A fingerprint begins with S or E
// for the surface that the method is in, and is taken on the experimental surface, which has all.
type Pinned map[string]map[Direction]map[string]string

// LoadPinned reads the embedded fingerprints.
func LoadPinned() (Pinned, error) {
	var p Pinned
	if err := strictjson.Unmarshal(pinnedJSON, 1<<20, &p); err != nil {
		return nil, fmt.Errorf("reading the pinned fingerprints: %w", err)
	}
	return p, nil
}

// Expected are the recorded differences between the pinned versions on one surface (R-CON-02).
func Expected(surface codex.Surface) []string {
	text := expectedStandard
	if surface == codex.Experimental {
		text = expectedExperimental
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// fingerprints takes those of one version.
func fingerprints(standard, experimental *Schema) map[Direction]map[string]string {
	out := map[Direction]map[string]string{}
	for _, d := range []Direction{Call, ServerRequest, Notification} {
		out[d] = map[string]string{}
		for _, method := range slices.Sorted(maps.Keys(experimental.methods(d))) {
			surface := "E"
			if standard.has(d, method) {
				surface = "S"
			}
			out[d][method] = surface + experimental.fingerprint(d, method)
		}
	}
	return out
}
