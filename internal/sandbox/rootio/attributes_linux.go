package rootio

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The descriptors may be O_PATH, which the calls on descriptors refuse; /proc/self/fd leads to the same object.

// listAttributes names all attributes; none on a file system without any.
func listAttributes(f *os.File) ([]string, error) {
	buf, err := sized(func(buf []byte) (int, error) { return unix.Listxattr(selfPath(f), buf) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(buf), func(r rune) bool { return r == 0 }), nil
}

func getAttribute(f *os.File, name string) ([]byte, error) {
	return sized(func(buf []byte) (int, error) { return unix.Getxattr(selfPath(f), name, buf) })
}

func setAttribute(f *os.File, name string, value []byte) error {
	return retry(func() error { return unix.Setxattr(selfPath(f), name, value, 0) })
}

func removeAttribute(f *os.File, name string) error {
	return retry(func() error { return unix.Removexattr(selfPath(f), name) })
}

// sized calls get with a buffer that is large enough.
func sized(get func([]byte) (int, error)) (value []byte, err error) {
	for range 100 { // it may grow between the two calls
		n, err := get(nil)
		if err != nil || n == 0 {
			return nil, err
		}
		buf := make([]byte, n)
		n, err = get(buf)
		if !errors.Is(err, unix.ERANGE) {
			return buf[:max(n, 0)], err
		}
	}
	return nil, unix.ERANGE
}
