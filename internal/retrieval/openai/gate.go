package openai

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/breaker"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// retryAfter is the time after which to retry if a server does not respond or is busy.
const retryAfter = 2 * time.Second

// Gate bounds the requests that a server answers at the same time, in total and for each workspace, and refuses them
// while the server fails. It is safe for concurrent use.
type Gate struct {
	server  string
	slots   *slots
	breaker breaker.Breaker
}

// NewGate creates a gate for a limit of requests, of which one workspace has half. server is the name of the server in
// errors, such as "the chat model".
func NewGate(server string, limit int) *Gate {
	return &Gate{server: server, slots: newSlots(server, limit)}
}

// Enter waits up to a second for a free slot. The caller must call release. The error is an Unavailable fault if the
// server fails or, with the cause [ErrBusy], if no slot is free, or else the cause of ctx.
func (g *Gate) Enter(ctx context.Context, workspace uuid.UUID) (release func(), err error) {
	if !g.breaker.Allow() {
		return nil, fault.New(fault.Unavailable, g.server+" does not answer").After(retryAfter)
	}
	return g.slots.acquire(ctx, workspace)
}

// Record records whether the server answered a request, whose context is limited by its timeout, and returns the error
// of the request. Requests that the caller cancelled must not be recorded.
func (g *Gate) Record(limited context.Context, err error) error {
	if err != nil && limited.Err() != nil && !fault.Is(err, fault.Timeout) {
		err = fault.Wrap(err, fault.Timeout, g.server+" did not answer in time")
	}
	if err == nil || fault.Is(err, fault.Invalid) { // Invalid: it responds, and refuses the text
		g.breaker.RecordSuccess()
	} else {
		g.breaker.RecordFailure()
	}
	return err
}
