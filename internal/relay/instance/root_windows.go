package instance

import (
	"errors"
	"path/filepath"
)

// Root returns the state root: %LOCALAPPDATA%\relaycodex.
func Root(env func(string) string) (string, error) {
	local := env("LOCALAPPDATA")
	if !filepath.IsAbs(local) {
		return "", errors.New("LOCALAPPDATA does not hold an absolute path")
	}
	return filepath.Join(local, "relaycodex"), nil
}
