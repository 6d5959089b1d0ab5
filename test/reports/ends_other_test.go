//go:build !linux

package reports

func actAsServer() bool { return false }
