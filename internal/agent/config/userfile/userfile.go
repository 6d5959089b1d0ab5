// Package userfile reads files of the person: regular, of bounded size, and where it matters nobody else's.
package userfile

import (
	"errors"
	"io"
	"os"
)

// What is wrong with a file.
var (
	ErrNotRegular   = errors.New("not a regular file")
	ErrTooLarge     = errors.New("too large")
	ErrNotOwn       = errors.New("another account owns it")
	ErrOpenToOthers = errors.New("others may open it")
)

// Read reads a whole regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path) // before opening: a named pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, ErrTooLarge
	}
	return data, nil
}
