//go:build linux

package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// MaxFiles is the kernel's limit of descriptors in one message (SCM_MAX_FD), less one for the memory file.
const MaxFiles = 252

// inline is the largest value sent in the packet itself; MaxMessage bounds one in a memory file, in bytes.
const (
	inline     = 48 << 10
	MaxMessage = 16 << 20
)

// elsewhere alone in a packet says that the message is in a memory file. No message encodes to it.
const elsewhere = 0xff

// Conn is one end. Send may be called from several goroutines, Receive from one.
type Conn struct {
	file *os.File
	send sync.Mutex
	buf  []byte
	oob  []byte
}

// Pair makes the two ends. The second one is for the child: a blocking descriptor that is closed on exec unless passed on.
func Pair() (*Conn, *os.File, error) { return both(Open) }

func both(open func(fd int) (*Conn, error)) (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the socket pair of a sandbox: %w", err)
	}
	c, err := open(fds[0])
	if err != nil {
		unix.Close(fds[1])
		return nil, nil, err
	}
	return c, os.NewFile(uintptr(fds[1]), "sandbox socket"), nil
}

// ThreadPair is Pair for a caller that waits itself, for this and other descriptors at once: see Try.
func ThreadPair() (*Conn, *os.File, error) { return both(OpenThread) }

// Open takes over a descriptor, which must be a SOCK_SEQPACKET socket, for goroutines: waiting costs no thread.
func Open(fd int) (*Conn, error) {
	if err := check(fd); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("opening the socket of a sandbox: %w", err)
	}
	return &Conn{file: os.NewFile(uintptr(fd), "sandbox socket")}, nil
}

// OpenThread is Open for one locked OS thread: waiting blocks that thread itself, so that a message wakes nobody else.
func OpenThread(fd int) (*Conn, error) {
	if err := check(fd); err != nil {
		return nil, err
	}
	return &Conn{file: os.NewFile(uintptr(fd), "sandbox socket")}, nil
}

func check(fd int) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err == nil && kind != unix.SOCK_SEQPACKET {
		err = errors.New("not a packet socket")
	}
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("opening the socket of a sandbox: %w", err)
	}
	unix.CloseOnExec(fd)
	return nil
}

// Close ends the connection; a blocked Receive returns an error.
func (c *Conn) Close() error { return c.file.Close() }

// Send writes one message with copies of the files, which stay the caller's.
func (c *Conn) Send(m message, files ...*os.File) error {
	fds := make([]int, 0, len(files)+1)
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	return c.SendDescriptors(m, fds)
}

// SendDescriptors is Send for descriptors that are no files.
func (c *Conn) SendDescriptors(m message, fds []int) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if len(data) > MaxMessage || len(fds) > MaxFiles {
		return fmt.Errorf("sandbox message of %d bytes and %d descriptors is too large", len(data), len(fds))
	}
	if len(data) > inline {
		mem, err := MemoryFile("sandbox message", data)
		if err != nil {
			return err
		}
		defer mem.Close()
		fds = append(slices.Clone(fds), int(mem.Fd()))
		if s, ok := m.(*Start); ok {
			data = s.abridged(data)
		} else {
			data = []byte{elsewhere}
		}
	}
	c.send.Lock()
	defer c.send.Unlock()
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	err = c.raw(false, func(fd int) error {
		return unix.Sendmsg(fd, data, oob, nil, unix.MSG_NOSIGNAL)
	})
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return io.EOF
	}
	return err
}

// Receive reads one message into m and returns its descriptors, which the caller closes. io.EOF means that the peer is gone.
func (c *Conn) Receive(m message) ([]*os.File, error) {
	return c.receive(m, func(flags int, call func(fd, flags int) error) error {
		return c.raw(true, func(fd int) error { return call(fd, flags) })
	})
}

// Try is Receive for a connection of ThreadPair when poll(2) said that there is something: it never waits, and without a message
// the error is unix.EAGAIN.
func (c *Conn) Try(m message) ([]*os.File, error) {
	return c.receive(m, func(flags int, call func(fd, flags int) error) error {
		for {
			if err := call(c.FD(), flags|unix.MSG_DONTWAIT); err != unix.EINTR {
				return err
			}
		}
	})
}

// FD is the descriptor of a connection of ThreadPair, to poll.
func (c *Conn) FD() int { return int(c.file.Fd()) }

func (c *Conn) receive(m message, through func(flags int, call func(fd, flags int) error) error) ([]*os.File, error) {
	if room, most := room(m); len(c.buf) < room {
		c.buf, c.oob = make([]byte, room), make([]byte, unix.CmsgSpace(most*4))
	}
	var n, oobn, flags int
	err := through(unix.MSG_CMSG_CLOEXEC, func(fd, how int) (err error) {
		n, oobn, flags, _, err = unix.Recvmsg(fd, c.buf, c.oob, how)
		return err
	})
	if errors.Is(err, unix.ECONNRESET) || err == nil && n == 0 {
		err = io.EOF // an empty packet is never sent
	}
	if err != nil {
		return nil, err
	}
	files, err := received(c.oob[:oobn])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("sandbox message was cut")
	}
	data := c.buf[:n]
	if err == nil && n == 1 && data[0] == elsewhere {
		data, files, err = fromMemory(files)
	}
	if err == nil {
		err = m.decode(data)
	}
	if err != nil {
		CloseAll(files)
		return nil, err
	}
	return files, nil
}

// room is how long a packet with m can be, with one byte more to see that it was longer, and how many descriptors may come with
// it. Each sandbox has a connection on which nothing but short replies comes.
func room(m message) (bytes, files int) {
	if _, short := m.(*Reply); short {
		return replySize + 1, 2
	}
	return inline + 1, MaxFiles + 1
}

// raw runs call on the descriptor, waiting in the runtime's poller while it would block.
func (c *Conn) raw(read bool, call func(fd int) error) error {
	sc, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	var cerr error
	wait := sc.Write
	if read {
		wait = sc.Read
	}
	err = wait(func(fd uintptr) bool {
		for {
			if cerr = call(int(fd)); cerr != unix.EINTR {
				return cerr != unix.EAGAIN
			}
		}
	})
	if err != nil {
		return err
	}
	return cerr
}

// CloseAll closes files.
func CloseAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func received(oob []byte) ([]*os.File, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // another kind of ancillary data carries no descriptor
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

// MemoryFile holds data in a file that nobody can change any more.
func MemoryFile(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("making a memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, fmt.Errorf("filling a memory file: %w", err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		f.Close()
		return nil, fmt.Errorf("sealing a memory file: %w", err)
	}
	return f, nil
}

// fromMemory reads the message out of the last file and returns the other files.
func fromMemory(files []*os.File) ([]byte, []*os.File, error) {
	if len(files) == 0 {
		return nil, nil, errors.New("sandbox message without its memory file")
	}
	mem, rest := files[len(files)-1], files[:len(files)-1]
	defer mem.Close()
	data, err := io.ReadAll(io.NewSectionReader(mem, 0, MaxMessage+1))
	if err == nil && len(data) > MaxMessage {
		err = errors.New("sandbox message is too large")
	}
	return data, rest, err
}

// Deadline makes a Receive that is still waiting then return os.ErrDeadlineExceeded; the zero time takes it away. A
// connection whose Receive was ended so is of no use any more.
func (c *Conn) Deadline(t time.Time) error { return c.file.SetReadDeadline(t) }
