package worker

import (
	"context"
	"sync"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/turn"
	"sekisho/internal/relay/uicontract"
)

// idle is a connection over which nothing comes.
type idle struct {
	once sync.Once
	end  chan struct{}
}

func (c *idle) Kind() transport.Kind { return transport.Stdio }

func (c *idle) Read(context.Context) ([]byte, error) {
	<-c.end
	return nil, &transport.Error{Class: transport.Cancelled, Fault: fault.New(fault.ConnectionClosed)}
}

func (c *idle) Write(context.Context, []byte) (bool, error) { return true, nil }

func (c *idle) Close(transport.Reason) error {
	c.once.Do(func() { close(c.end) })
	return nil
}

// proves R-CONN-02: a connection that ended while its owner was being found out never becomes the live one, whichever of
// the end's signals came first.
func TestEndedConnectionNeverGoesLive(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.must(b.do(uicontract.CmdDisconnect, &uicontract.None{}))
		s := &session{w: b.Worker, gen: 9, profile: b.o.Profiles.Profiles[0], log: b.o.Log, turns: turn.New(9), cancel: func() {}}
		s.client = rpc.New(&idle{end: make(chan struct{})}, rpc.Options{Generation: 9, Handler: s, Log: b.o.Log})
		s.Ended(9, &transport.Error{Class: transport.Transient, Fault: fault.New(fault.ConnectionClosed)})
		if err := s.goLive(codex.AccountReadResult{}, 0); err == nil {
			t.Error("it went live")
		}
		s.client.Close(transport.ByUser)
		s.client.Wait()
		if b.live != nil || b.connection.State != uicontract.Offline {
			t.Errorf("live %v, %+v", b.live != nil, b.connection)
		}
	}, greeted())
}
