//go:build linux

package filter

import "time"

const (
	// paceWindow is the time over which the server's own work is added up, and paceShare what of it may be work.
	paceWindow = 10 * time.Millisecond
	paceShare  = paceWindow / 4
	// perWakeup is the part of a notification that its own measurement does not see: being woken and receiving it.
	perWakeup = 10 * time.Microsecond
)

// pace holds the server to its share of a processor. The zero value is ready.
type pace struct {
	since time.Time
	spent time.Duration
}

// spend adds the work from begun to done (when it would have been done without its waits) and tells until when nobody may be
// heard: when the share of this window is used up, until the next one. Whoever has a notification waits with it, so that a
// program that makes nothing but notifications slows itself only.
func (p *pace) spend(begun, done time.Time) (resume time.Time) {
	if begun.Sub(p.since) >= paceWindow {
		p.since, p.spent = begun, 0
	}
	p.spent += done.Sub(begun) + perWakeup
	if p.spent < paceShare {
		return time.Time{}
	}
	return p.since.Add(paceWindow)
}
