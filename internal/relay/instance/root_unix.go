//go:build unix

package instance

import (
	"errors"
	"path/filepath"
)

// Root returns the state root: $XDG_STATE_HOME/relaycodex, or ~/.local/state/relaycodex. A relative XDG_STATE_HOME is
// ignored, as the XDG specification says.
func Root(env func(string) string) (string, error) {
	if state := env("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "relaycodex"), nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("neither XDG_STATE_HOME nor HOME holds an absolute path")
	}
	return filepath.Join(home, ".local", "state", "relaycodex"), nil
}
