package ingest

import (
	"context"
	"time"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/internal/platform/budget"
)

// Requests of this many bytes or more wait for each other; smaller ones do not wait
// behind them.
const queuedBytes = 64 << 10

// What parts of the bytes in flight the bodies have that are being parsed, and what they
// are parsed into: that can be many times a body's size, and is known only afterwards.
const (
	parsingPart = 4
	parsedPart  = 2
)

// bytesPerPoint is about what a point of a small request costs in memory beyond the request's
// body: its columns and its bytes in a record.
const bytesPerPoint = 32

// queue lets requests wait for a share of a budget.
type queue struct {
	budget  *budget.Budget
	min     int64         // that a request takes of it
	timeout time.Duration // of waiting
}

// newQueue creates a queue for so many bytes. With atATime, no more requests than that have a
// share at a time.
func newQueue(size int64, atATime int, timeout time.Duration) *queue {
	q := &queue{budget: budget.New(max(size, int64(atATime), 1)), timeout: timeout}
	if atATime > 0 {
		q.min = q.budget.Limit() / int64(atATime)
	}
	return q
}

// wait returns when there is a share of what a body of so many bytes needs. What needs more
// than all there is gets all of it. The share of a small body is nil.
func (q *queue) wait(ctx context.Context, bytes, need int64) (*budget.Share, error) {
	if bytes < queuedBytes {
		return nil, nil
	}
	waiting, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	share, err := q.budget.Wait(waiting, max(need, q.min))
	switch {
	case err == nil:
		return share, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, overloaded()
}

// admit returns a share for a body of so many bytes, or refuses at once. A body that is larger
// than the budget is admitted when it is alone.
func (p *Pipeline) admit(bytes int64) (*budget.Share, error) {
	share, ok := p.inFlight.Take(min(bytes, p.inFlight.Limit()))
	if !ok {
		return nil, overloaded()
	}
	return share, nil
}

// admitParsed returns a share for what a body of so many bytes was parsed into: a large one
// waits for it, a small one grows the share that it has, which then is nil here.
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
