package forward

import "net"

// What the kernel may keep of one direction of a connection: a receive and a send buffer, which it doubles for its own overhead
// and which would grow to several MiB each for a peer that reads slowly, and a pipe between them. Most conversations need
// little. A direction that has moved widenAfter bytes is a stream and gets room to be as fast as the machine, as long as fewer
// than maxWide others of its sandbox have it. net.core.rmem_max and wmem_max bound both.
const (
	narrowBuffer = 128 << 10
	wideBuffer   = 2 << 20
	widePipe     = 1 << 20
	widenAfter   = 1 << 20
	maxWide      = 8
)

// narrow fixes the buffers of a new connection.
func narrow(c *net.TCPConn) {
	c.SetReadBuffer(narrowBuffer)
	c.SetWriteBuffer(narrowBuffer)
}

// widen gives a direction room if there is some; then done must be called when it has ended.
func (f *Forwarder) widen(to, from *net.TCPConn) (done func(), ok bool) {
	select {
	case f.wide <- struct{}{}:
	default:
		return nil, false
	}
	from.SetReadBuffer(wideBuffer)
	to.SetWriteBuffer(wideBuffer)
	return func() { <-f.wide }, true
}
