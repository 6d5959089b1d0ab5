//go:build !linux

package instance

import (
	"context"
	"net"
	"os"
	"path/filepath"
)

func socketPath(dir *os.File, name string) string { return filepath.Join(dir.Name(), name) }

func listen(ctx context.Context, dir *os.File, name string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socketPath(dir, name))
	if err == nil {
		l.(*net.UnixListener).SetUnlinkOnClose(false) // the instance removes its files itself
	}
	return l, err
}
