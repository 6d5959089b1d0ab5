// Package contract keeps relaycodex honest about the app-server protocol: it pins the CLI versions that the program was
// written for (manifest.json), generates their schemas with the real CLI into a cache, compares them, and judges any other
// CLI against what relaycodex uses (R-CON-01, R-CON-02, R-CON-06).
//
// The generated schemas are never committed. What is committed beside the manifest are digests: of the packages, and of
// each method's normalised contract (pinned.json), so that a CLI can be judged method by method where no pinned schema is
// at hand.
//
// Threat: the CLI that is judged is any program that a person names. It is run with an empty environment, a home of its
// own and a time limit; its output is parsed as untrusted JSON of bounded size.
package contract

import (
	_ "embed"
	"fmt"

	"sekisho/internal/relay/codex"
	"sekisho/internal/strictjson"
)

//go:embed manifest.json
var manifestJSON []byte

// Manifest is the tracked manifest.
type Manifest struct {
	// Format numbers the layout of a cached surface: another number makes every cached one invalid.
	Format     int                        `json:"format"`
	Target     string                     `json:"target"`
	Regression string                     `json:"regression"`
	Surfaces   []codex.Surface            `json:"surfaces"`
	Arguments  map[codex.Surface][]string `json:"arguments"`
	Packages   []Package                  `json:"packages"`
}

// Package is one npm platform package.
type Package struct {
	Version  string `json:"version"`
	Platform string `json:"platform"` // as npm names it: linux-x64, win32-x64
	// Role is "contract" for a pinned version and "judged" for one that tests only try out.
	Role         string `json:"role"`
	Package      string `json:"package"`
	Integrity    string `json:"integrity"` // npm's
	SHA256       string `json:"sha256"`    // of the archive
	Binary       string `json:"binary"`    // path in the archive
	BinarySHA256 string `json:"binary_sha256"`
}

// Load reads the embedded manifest.
func Load() (*Manifest, error) {
	var m Manifest
	if err := strictjson.Unmarshal(manifestJSON, 1<<20, &m); err != nil {
		return nil, fmt.Errorf("reading the contract manifest: %w", err)
	}
	return &m, nil
}

// Find returns the package of a version and platform.
func (m *Manifest) Find(version, platform string) (Package, bool) {
	for _, p := range m.Packages {
		if p.Version == version && p.Platform == platform {
			return p, true
		}
	}
	return Package{}, false
}

// Versions are the pinned versions, the older first.
func (m *Manifest) Versions() []string { return []string{m.Regression, m.Target} }
