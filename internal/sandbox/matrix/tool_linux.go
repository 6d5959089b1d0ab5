package matrix

import (
	"io"

	"sekisho/internal/sandbox/rootio"
)

// toolRead reads a file as the file tools do.
func toolRead(set *rootio.Set, path string) (string, error) {
	target, err := set.Resolve(path, rootio.Existing)
	if err != nil {
		return "", err
	}
	defer target.Close()
	f, err := target.OpenRead()
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(b), err
}
