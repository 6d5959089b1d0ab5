package transport

import (
	"net"
	"sync"
	"sync/atomic"
)

// wire is a network connection that knows how many bytes went in and out below every buffer and cipher: the only place
// where "not one byte was handed over" can be proved.
type wire struct {
	net.Conn
	received    atomic.Int64
	acknowledge func() // what was read

	mu     sync.Mutex // held while bytes are handed over
	handed int64
	sealed bool
}

func newWire(c net.Conn) *wire { return &wire{Conn: c, acknowledge: acknowledger(c)} }

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.received.Add(int64(n))
	if n > 0 {
		w.acknowledge()
	}
	return n, err
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sealed {
		return 0, net.ErrClosed
	}
	n, err := w.Conn.Write(p)
	w.handed += int64(n)
	return n, err
}

// sent is the number of bytes handed over so far.
func (w *wire) sent() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.handed
}

// seal closes the connection and returns the final number of bytes handed over: whatever is still buffered above never
// goes out.
func (w *wire) seal() int64 {
	w.Conn.Close() // wakes a Write that holds the lock
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sealed = true
	return w.handed
}
