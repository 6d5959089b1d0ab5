package instance

import (
	"context"
	"fmt"
	"net"
	"os"
)

// socketPath names the socket through the open directory: the address of a socket is limited to 107 bytes, and a state
// root may be deeper than that.
func socketPath(dir *os.File, name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)
}

func listen(ctx context.Context, dir *os.File, name string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socketPath(dir, name))
	if err == nil {
		l.(*net.UnixListener).SetUnlinkOnClose(false) // by then the number may name another directory
	}
	return l, err
}
