//go:build unix

package statedir

import (
	"errors"
	"path/filepath"
)

// Root returns the state root: $XDG_STATE_HOME/agent-mcp, or ~/.local/state/agent-mcp (A-CFG-07). A relative
// XDG_STATE_HOME is ignored, as the XDG specification says.
func Root(env func(string) string) (string, error) {
	if state := env("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "agent-mcp"), nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("neither XDG_STATE_HOME nor HOME holds an absolute path")
	}
	return filepath.Join(home, ".local", "state", "agent-mcp"), nil
}

// CacheRoot returns the cache root: $XDG_CACHE_HOME/agent-mcp, or ~/.cache/agent-mcp (A-SBX-08).
func CacheRoot(env func(string) string) (string, error) {
	if cache := env("XDG_CACHE_HOME"); filepath.IsAbs(cache) {
		return filepath.Join(filepath.Clean(cache), "agent-mcp"), nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("neither XDG_CACHE_HOME nor HOME holds an absolute path")
	}
	return filepath.Join(home, ".cache", "agent-mcp"), nil
}
