package statedir

import (
	"errors"
	"path/filepath"
)

// Root returns the state root: %LOCALAPPDATA%\AgentSandboxMcp (A-CFG-07).
func Root(env func(string) string) (string, error) {
	local := env("LOCALAPPDATA")
	if !filepath.IsAbs(local) {
		return "", errors.New("LOCALAPPDATA does not hold an absolute path")
	}
	return filepath.Join(local, "AgentSandboxMcp"), nil
}

// CacheRoot returns the cache root: %LOCALAPPDATA%\AgentSandboxMcp\cache.
func CacheRoot(env func(string) string) (string, error) {
	root, err := Root(env)
	return filepath.Join(root, "cache"), err
}
