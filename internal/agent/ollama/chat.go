package ollama

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// Chat performs one logical call: it refuses what must not be sent, retries what may pass, and interprets the reply.
//
// An error is a *fault.Error that names endpoint and model, or wraps the context's error when the caller ended the call.
// ollama.context_overflow must not be answered with the same conversation again (A-SES-07); every other code has already
// been retried as far as that helps.
func (c *Client) Chat(ctx context.Context, r Request) (Response, error) {
	rec := CallRecord{Time: time.Now().UTC(), CallID: uuid.NewString()}
	out, err := c.chat(ctx, r, &rec)
	out.CallID = rec.CallID
	if c.cfg.Log == nil {
		return out, err
	}
	c.complete(&rec, r, out, err)
	if logErr := c.cfg.Log.LogCall(rec); logErr != nil {
		out.LogError = fmt.Errorf("writing the LLM log: %w", logErr)
	}
	return out, err
}

func (c *Client) chat(ctx context.Context, r Request, rec *CallRecord) (Response, error) {
	q, err := c.encode(r)
	if err != nil {
		return Response{}, c.Fault(fault.AgentInternal, fault.Cause(fmt.Errorf("building the model request: %w", err)))
	}
	rec.Request.Options = q.Options
	if err := c.refuseImages(ctx, r.Messages); err != nil {
		return Response{}, err
	}
	body, err := strictjson.Marshal(q)
	if err != nil {
		return Response{}, c.Fault(fault.AgentInternal, fault.Cause(fmt.Errorf("encoding the model request: %w", err)))
	}
	var reply chatReply
	rec.Attempts, err = c.post(ctx, "/api/chat", body, func(data []byte) *failure {
		var err error
		reply, err = decodeReply(data)
		if errors.Is(err, errTooManyCalls) {
			return c.temporary(fault.OllamaModelOutput, err.Error())
		}
		if err != nil {
			return c.protocol(err)
		}
		return nil
	})
	if err != nil {
		return Response{}, err
	}
	out := interpret(reply, r, c.cfg.Options.NumCtx)
	if w := c.truncated(q, reply); w != nil {
		out.Warnings = append(out.Warnings, w)
	}
	return out, nil
}
