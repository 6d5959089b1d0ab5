//go:build linux

package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// hostWatch notices that somebody on the host takes the name of an approved script away while it runs (A-POL-11). A private
// copy hides whatever is done to the file itself. But the kernel detaches a mount when another file is renamed over its
// place, and a directory that is moved takes the place with it: after that the interpreter would read the host's file. The
// copy is proven to be in its place at the exec stop; from before that on, this looks at every name on the way to it.
type hostWatch struct {
	file     *os.File
	names    map[int32][]string // by watch descriptor: the names in that directory that lead to a script
	moved    chan struct{}      // closed once
	once     sync.Once
	ring     func() // after that
	seen     atomic.Bool
	watching sync.WaitGroup
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// changesOfNames are the events that mean another object under a name.
const changesOfNames = unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_DELETE | unix.IN_ONLYDIR

// watchNames watches the way to each path. ring is called when a name moved.
func watchNames(paths []string, ring func()) (*hostWatch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching the names of scripts: %w", err)
	}
	w := &hostWatch{file: os.NewFile(uintptr(fd), "inotify"), names: map[int32][]string{}, moved: make(chan struct{}), ring: ring}
	for _, p := range paths {
		for ; p != "/"; p = path.Dir(p) {
			wd, err := unix.InotifyAddWatch(fd, path.Dir(p), changesOfNames)
			if err != nil {
				w.file.Close()
				return nil, fmt.Errorf("watching the names of scripts: %w", &os.PathError{Op: "inotify_add_watch", Path: path.Dir(p), Err: err})
			}
			w.names[int32(wd)] = append(w.names[int32(wd)], path.Base(p))
		}
	}
	w.watching.Go(w.run)
	return w, nil
}

func (w *hostWatch) run() {
	buf := make([]byte, 16<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				w.tell() // what cannot be watched is not vouched for
			}
			return
		}
		w.look(buf[:n])
	}
}

// look reads struct inotify_event: wd, mask, cookie, len, name.
func (w *hostWatch) look(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		if end > len(events) {
			w.tell()
			return
		}
		name := unix.ByteSliceToString(events[unix.SizeofInotifyEvent:end])
		events = events[end:]
		if mask&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED|unix.IN_UNMOUNT) != 0 {
			w.tell()
		}
		for _, n := range w.names[wd] {
			if n == name {
				w.tell()
			}
		}
	}
}

func (w *hostWatch) tell() {
	w.seen.Store(true)
	w.once.Do(func() {
		close(w.moved)
		w.ring()
	})
}

// stop ends the watch and reports whether anything was seen, up to now. It may be called once; a nil watch saw nothing.
func (w *hostWatch) stop() bool {
	if w == nil {
		return false
	}
	w.file.SetReadDeadline(longAgo)
	w.watching.Wait()
	buf := make([]byte, 16<<10)
	// What came before now but was not read yet; the descriptor does not block.
	raw, err := w.file.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			for {
				n, err := unix.Read(int(fd), buf)
				if err == unix.EINTR {
					continue
				}
				if err != nil || n <= 0 {
					return
				}
				w.look(buf[:n])
			}
		})
	}
	w.file.Close()
	return err != nil || w.seen.Load()
}
