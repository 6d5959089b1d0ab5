//go:build linux

package main

import "testing"

func TestAtHome(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	for in, want := range map[string]string{"": "", "~": "/home/me", "~/.codex": "/home/me/.codex", "/x/~": "/x/~", "~you/x": "~you/x", ".codex": ".codex"} {
		if got, err := atHome(in); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}
