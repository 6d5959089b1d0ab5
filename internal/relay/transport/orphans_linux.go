package transport

import (
	"bytes"
	"crypto/rand"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/proctree"
)

// reaping makes this process a subreaper as long as a child exists, so that the orphans of a killed supervisor come here
// and not to init. Orphans of other programs that this process starts come here, too, and are left alone.
var reaping subreaper

// subreaper counts who needs an attribute that a process has only once.
type subreaper struct {
	mu    sync.Mutex
	users int
}

func (s *subreaper) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	s.users++
	return nil
}

func (s *subreaper) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// newMark is an environment entry that no other child has. Everything a child starts inherits it unless it takes care not
// to; it says nothing and is no secret.
func newMark() string { return "RELAYCODEX_CHILD=" + rand.Text() }

// sweepOrphans kills and reaps everything of the child app whose supervisor has ended, and reports whether nothing is left. A
// descendant of this process belongs to the child if it is in the supervisor's session, if its environment has the mark,
// or if it descends from such a process; a person's browser that this process started does not. What left the session and
// gave up its environment before the supervisor was killed is not recognised.
func sweepOrphans(app proctree.ID, session int, mark string) bool {
	deadline := time.Now().Add(sweepLimit)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	seen := map[proctree.ID]bool{app: true} // a zombie by now, which nobody else reaps
	for empty := 0; ; <-again.C {
		ids, err := proctree.Descendants(os.Getpid())
		found := 0
		for _, id := range ids {
			if seen[id] || !belongs(id.PID, session, mark) {
				continue
			}
			seen[id] = true
			if under, err := proctree.Descendants(id.PID); err == nil {
				for _, d := range under {
					seen[d] = true
				}
			}
		}
		for id := range seen {
			found++
			if end(id) {
				delete(seen, id)
			}
		}
		if empty++; err != nil || found > 0 {
			empty = 0
		}
		if empty > 1 { // a process that was being born while one looked is seen the second time
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

func belongs(pid, session int, mark string) bool {
	if sid, err := unix.Getsid(pid); err == nil && sid == session {
		return true
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(mark))
}

// end kills a process, reaps it if it is ours, and reports whether it is gone.
func end(id proctree.ID) bool {
	_ = proctree.Kill(id) // one that cannot be killed is met again
	if now, err := proctree.Identify(id.PID); err != nil || now != id {
		return true
	}
	pid, err := syscall.Wait4(id.PID, nil, syscall.WNOHANG, nil)
	return err == nil && pid == id.PID
}
