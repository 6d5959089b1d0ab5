//go:build !linux

package matrix

// cases is empty where there is no backend to judge.
var cases []Case
