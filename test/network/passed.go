//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// marker is where a packet goes that only tells that all before it have passed: nobody tries this port.
var marker = net.JoinHostPort(unlisted4, "9")

// passed returns the packets that came over the wire so far, and forgets them. The wire keeps their order: what was sent before
// the marker is seen before it.
func (o *outside) passed() ([]string, error) {
	c, err := net.Dial("udp", marker)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "marker"); err != nil {
		return nil, err
	}
	if !o.waits(&o.packets, "udp "+marker) {
		return nil, errors.New("the sniffer did not see the marker")
	}
	packets := o.taken(&o.packets)
	return slices.DeleteFunc(packets, func(p string) bool { return p == "udp "+marker }), nil
}

// settled is passed once nothing came over the wire for a while.
func (o *outside) settled() (all []string, err error) {
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); {
		packets, err := o.passed()
		if err != nil {
			return nil, err
		}
		all = append(all, packets...)
		if o.quiet(100 * time.Millisecond) {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the wire is never quiet: %v", all)
}

// quiet tells whether no packet comes for so long.
func (o *outside) quiet(long time.Duration) bool {
	for limit := time.After(long); ; {
		o.mu.Lock()
		none, changed := len(o.packets) == 0, o.changed
		o.mu.Unlock()
		if !none {
			return false
		}
		select {
		case <-changed:
		case <-limit:
			return true
		}
	}
}
