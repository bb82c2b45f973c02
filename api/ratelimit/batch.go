package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/redis"
)

// batcher combines requests. Requests that arrive during a call of Redis for their workspace
// wait and are counted together by the next call, so the cost per request decreases with
// their number. A request without concurrent ones is counted immediately.
type batcher struct {
	mu    sync.Mutex
	calls map[callKey]*call // the next call, which requests join during the current one
}

// callKey identifies the requests that can share a call.
type callKey struct {
	workspace uuid.UUID
	limits    [2]int64
}

// call is one call of Redis for several requests.
type call struct {
	requests int64         // number of requests that joined
	leader   chan struct{} // the waiting request that receives from it makes the call
	done     chan struct{} // closed when answered and answer are set

	answered bool
	answer   redis.RequestResult
}

func newCall() *call {
	return &call{leader: make(chan struct{}, 1), done: make(chan struct{})}
}

// join adds a request to the next call of its key. It returns the request's number in the call
// and whether the request must make the call immediately.
func (b *batcher) join(key callKey) (c *call, number int64, isLeader bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c = b.calls[key]
	if c == nil { // no call is in progress: this request makes one
		if b.calls == nil {
			b.calls = map[callKey]*call{}
		}
		c, isLeader = newCall(), true
		b.calls[key] = c
	}
	c.requests++
	return c, c.requests, isLeader
}

// begin closes a call to further requests and returns the number of requests that joined.
func (b *batcher) begin(key callKey, c *call) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[key] = newCall()
	return c.requests
}

// end completes a call. If requests have joined the next call, one of them makes it.
func (b *batcher) end(key callKey, c *call) {
	close(c.done)
	b.mu.Lock()
	defer b.mu.Unlock()
	if next := b.calls[key]; next.requests > 0 {
		next.leader <- struct{}{}
	} else {
		delete(b.calls, key)
	}
}

// takeBatched counts a request in Redis, together with concurrent ones. ok is false if Redis does
// not answer. If not all requests of a call pass, the first ones do.
func (l *Limiter) takeBatched(
	ctx context.Context, s *server, workspace uuid.UUID, limits [2]int64,
) (now time.Time, counts [2]int64, taken, ok bool) {
	key := callKey{workspace: workspace, limits: limits}
	c, number, isLeader := l.batches.join(key)
	if !isLeader {
		select {
		case <-c.leader:
			isLeader = true
		case <-c.done:
		}
	}
	if isLeader {
		l.call(ctx, s, key, c)
	}
	if !c.answered {
		return now, counts, false, false
	}
	counts = c.answer.Counts
	if taken = number <= c.answer.Taken; taken { // the counts as if it had been counted alone
		counts[0] -= c.answer.Taken - number
		counts[1] -= c.answer.Taken - number
	}
	return c.answer.At, counts, taken, true
}

// call counts all requests that joined a call.
func (l *Limiter) call(ctx context.Context, s *server, key callKey, c *call) {
	defer l.batches.end(key, c)
	request := redis.RequestQuery{
		Workspace: key.workspace, Requests: l.batches.begin(key, c), Limits: key.limits, Lengths: l.lengths,
	}
	if answers, ok := l.query(ctx, s, []redis.RequestQuery{request}); ok {
		c.answer, c.answered = answers[0], true
	}
}
