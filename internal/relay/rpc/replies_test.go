package rpc

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/transport"
)

// A server that asks without end and takes no answer ends the generation; the refusals do not pile up.
//
// proves R-CONN-09
func TestRefusalsThatAreNotTakenEndTheGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		free := make(chan struct{})
		w.onWrite = func([]byte) (bool, error) {
			<-free
			return false, closedErr()
		}
		c := start(t, w, r)
		id := strings.Repeat("i", relay.MaxID-8)
		for i := range MaxReplyBytes/len(id) + 100 {
			w.say(fmt.Sprintf(`{"id":"%s%08d","method":"no/such","params":{}}`, id, i))
		}
		synctest.Wait()
		c.out.mu.Lock()
		queued := c.out.auto
		c.out.mu.Unlock()
		if queued > MaxReplyBytes+2*relay.MaxID+200 {
			t.Errorf("%d bytes of refusals are queued", queued)
		}
		close(free)
		<-r.ended
		if err := c.Err(); transport.ClassOf(err) != transport.Config || fault.CodeOf(err) != fault.ConnectionProtocol {
			t.Errorf("ended with %v", err)
		}
	})
}
