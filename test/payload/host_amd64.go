//go:build linux

package main

import "golang.org/x/sys/unix"

// setIDOld are the calls that only amd64 kept.
func setIDOld(name string, path, mode uintptr) (string, error) {
	switch name {
	case "chmod":
		return call(unix.SYS_CHMOD, path, mode)
	case "open":
		return call(unix.SYS_OPEN, path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, mode)
	case "creat":
		return call(unix.SYS_CREAT, path, mode)
	case "mknod":
		return call(unix.SYS_MKNOD, path, unix.S_IFREG|mode, 0)
	case "mkdir":
		if _, err := call(unix.SYS_MKDIR, path, mode); err != nil {
			return "", err
		}
		return call(unix.SYS_CHMOD, path, mode)
	}
	return "", errUsage
}
