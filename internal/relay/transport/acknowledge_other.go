//go:build !linux

package transport

import "net"

// acknowledger: only Linux can be told when to acknowledge.
func acknowledger(net.Conn) func() { return func() {} }
