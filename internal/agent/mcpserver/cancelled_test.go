package mcpserver

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"sekisho/internal/fault"
)

const cancelSeven = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n"

// A cancellation means a request that is open, or the task of one that was answered; it is never kept for a request that comes
// later, whatever the id it takes.
//
// proves A-RUN-04
func TestACancellationNeverMeetsALaterRequest(t *testing.T) {
	run := call("7", "agent_run", `{"request":"x"}`)
	for name, c := range map[string]struct {
		play func(p pipe, rt *fakeRuntime)
		want []int // which of the accepted runs are cancelled
	}{
		"control: the task of an answered request": {func(p pipe, rt *fakeRuntime) {
			p.ask(run)
			p.send(cancelSeven)
		}, []int{0}},
		"an id that nobody used yet": {func(p pipe, rt *fakeRuntime) {
			p.send(cancelSeven)
			p.ask(run)
		}, nil},
		"an id that was no run's": {func(p pipe, rt *fakeRuntime) {
			p.ask(`{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n")
			p.send(cancelSeven)
			p.ask(run)
		}, nil},
		"the same cancellation twice": {func(p pipe, rt *fakeRuntime) {
			p.ask(run)
			p.send(cancelSeven + cancelSeven)
			p.ask(run)
		}, []int{0}},
		"a request that is refused": {func(p pipe, rt *fakeRuntime) {
			rt.hold()
			rt.refuse = fault.New(fault.ServerStopping)
			p.send(run)
			<-rt.entered
			p.send(cancelSeven)
			synctest.Wait()
			close(rt.block)
			synctest.Wait() // its answer is dropped
			rt.block, rt.refuse = nil, nil
			p.ask(run)
		}, nil},
		"an id used again while the run is being accepted": {func(p pipe, rt *fakeRuntime) {
			p.ask(run)
			rt.hold()
			p.send(run)
			<-rt.entered
			p.send(cancelSeven)
			synctest.Wait()
			close(rt.block)
		}, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := &fakeRuntime{}
				p, done := connect(t, newServer(rt, io.Discard))
				p.ask(initialize)
				c.play(p, rt)
				synctest.Wait()
				rt.mu.Lock()
				var got []int
				for _, id := range rt.cancelled {
					got = append(got, slices.Index(rt.ids, id))
				}
				rt.mu.Unlock()
				if !slices.Equal(got, c.want) {
					t.Errorf("cancelled runs %v, want %v", got, c.want)
				}
				p.in.Close()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What one client sends does not gather: each id that was cancelled is forgotten with its request.
func TestCancellationsDoNotGather(t *testing.T) {
	c := &connection{owner: "o", cancel: func(string) {}, tasks: map[string]string{}, cancelledEarly: map[string]bool{}}
	for _, id := range []string{"a", "b", "c"} {
		c.cancelled(id, false)
		c.arrived(id)
		c.cancelled(id, true)
		c.answered(id)
	}
	if len(c.cancelledEarly)+len(c.tasks) > 0 {
		t.Errorf("kept %v, %v", c.cancelledEarly, c.tasks)
	}
}

// hold makes Enqueue wait until block is closed.
func (f *fakeRuntime) hold() {
	f.block, f.entered = make(chan struct{}), make(chan struct{}, 1)
}

// ask sends a request and requires its answer.
func (p pipe) ask(s string) {
	p.t.Helper()
	p.send(s)
	if got := p.receive(); !strings.Contains(got, `"result"`) {
		p.t.Errorf("%s was answered %s", s, got)
	}
}
