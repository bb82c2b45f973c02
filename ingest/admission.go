package ingest

import (
	"context"
	"time"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/internal/platform/budget"
)

// queuedBytes is the body size, in bytes, from which requests wait in a queue. Smaller requests do not wait.
const queuedBytes = 64 << 10

// The fractions of Limits.InFlightBytes that are budgets of their own: one quarter for large bodies that are being
// parsed, and one half for the parsed data, which can be many times the size of a body. Its size is known only after
// parsing.
const (
	parsingDivisor = 4
	parsedDivisor  = 2
)

// bytesPerPoint estimates the memory of a point of a small request beyond the request's body: its columns and its
// bytes in a record.
const bytesPerPoint = 32

// queue makes requests wait for a share of a budget.
type queue struct {
	budget  *budget.Budget
	min     int64         // minimum share of a request
	timeout time.Duration // maximum wait
}

// newQueue creates a queue with a budget of size bytes. If maxConcurrent is positive, at most that many requests have a
// share at a time.
func newQueue(size int64, maxConcurrent int, timeout time.Duration) *queue {
	q := &queue{budget: budget.New(max(size, int64(maxConcurrent), 1)), timeout: timeout}
	if maxConcurrent > 0 {
		q.min = q.budget.Limit() / int64(maxConcurrent)
	}
	return q
}

// wait waits for a share of need bytes and returns it. A request that needs more than the whole budget gets the whole
// budget. The share is nil if the body, whose size is bytes, is small.
func (q *queue) wait(ctx context.Context, bytes, need int64) (*budget.Share, error) {
	if bytes < queuedBytes {
		return nil, nil
	}
	waiting, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	share, err := q.budget.Acquire(waiting, max(need, q.min))
	switch {
	case err == nil:
		return share, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, overloaded()
}

// admit returns a share for a body of the given size, or an error immediately if there is none. A body that is larger
// than the budget is admitted when no other request is in flight.
func (p *Pipeline) admit(bytes int64) (*budget.Share, error) {
	share, ok := p.inFlight.TryAcquire(min(bytes, p.inFlight.Limit()))
	if !ok {
		return nil, overloaded()
	}
	return share, nil
}

// admitParsed reserves memory for the batch that a body of the given size was parsed into. A large body waits for a
// share of the parsed budget. A small body grows its existing share, and the returned share is nil.
func (p *Pipeline) admitParsed(
	ctx context.Context, b *block.Batch, bytes int64, body *budget.Share,
) (*budget.Share, error) {
	if bytes >= queuedBytes {
		return p.parsed.wait(ctx, bytes, b.Need())
	}
	if !body.Grow(min(int64(b.Points)*bytesPerPoint, p.inFlight.Limit()-body.Size())) {
		return nil, overloaded()
	}
	return nil, nil
}
