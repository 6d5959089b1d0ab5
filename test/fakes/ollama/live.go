package scriptmodel

import "context"

// Live says what the model replies to one chat request, whose phase is plan, run or text. It may wait, until ctx ends at the
// latest, for whoever drives the model to make up its mind. An error is a failure of the script.
type Live func(ctx context.Context, phase string, q *ChatRequest) (Reply, error)

// Live lets next answer all chat requests instead of the script's rules; what is checked of a request stays. It is to be called before the first
// request.
func (v *Server) Live(next Live) { v.live = next }

// ask is called, and returns, with the lock held; nobody waits for it meanwhile.
func (v *Server) ask(ctx context.Context, q *ChatRequest, phase string) (answer, Reply) {
	v.mu.Unlock()
	reply, err := v.live(ctx, phase, q)
	v.mu.Lock()
	if err != nil {
		return v.fail("the live model: %v", err), Reply{}
	}
	return v.script.compose(q, &Rule{Reply: reply}, nil), reply
}
