package rpc

import (
	"testing"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/transport"
)

// BenchmarkDelta is one delta from the wire to the Handler.
func BenchmarkDelta(b *testing.B) {
	w, r := newWire(), newRecord()
	c := New(w, Options{Generation: 1, Version: codex.Target, Handler: discard{r}})
	frame := []byte(`{"method":"item/agentMessage/delta","params":{"threadId":"01a22da3-9d11-74c1-ada2-09d4894b6b61","turnId":"01a22da3-9ee1-7922-b61f-49cd0a6303ae","itemId":"msg_3","delta":"tool done "},"emittedAtMs":1796062032424}`)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		c.frame(frame)
	}
	w.finish(lostErr())
	<-r.ended
	c.Close(transport.ShuttingDown)
	c.Wait()
}

// discard is a Handler that keeps nothing but the end.
type discard struct{ *record }

func (discard) Notification(_ relay.Generation, _ codex.Notification) {}
