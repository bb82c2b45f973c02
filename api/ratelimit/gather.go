package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/redis"
)

// gathering has the requests that come while Redis is asked for their workspace wait,
// to be asked for together by the next call: the more there are, the less each costs.
// A request that meets no other is asked for at once.
type gathering struct {
	mu    sync.Mutex
	calls map[callKey]*call // the one that gathers while another is under way
}

// callKey is what requests of one call have in common.
type callKey struct {
	workspace uuid.UUID
	limits    [2]int64
}

// call is one call of Redis for several requests.
type call struct {
	asked int64         // how many requests joined
	lead  chan struct{} // holds a token when one of those who wait is to call
	done  chan struct{} // closed when the rest is set

	answered bool
	answer   redis.RequestAnswer
}

func newCall() *call {
	return &call{lead: make(chan struct{}, 1), done: make(chan struct{})}
}

// join adds a request to the next call of its key, and gives its number in it and
// whether it has to make the call itself at once.
func (g *gathering) join(key callKey) (c *call, number int64, leads bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c = g.calls[key]
	if c == nil { // nobody asks: from here on somebody does
		if g.calls == nil {
			g.calls = map[callKey]*call{}
		}
		c, leads = newCall(), true
		g.calls[key] = c
	}
	c.asked++
	return c, c.asked, leads
}

// begin closes a call for those who come from here on, and reports how many joined.
func (g *gathering) begin(key callKey, c *call) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls[key] = newCall()
	return c.asked
}

// end has one of those who came meanwhile make their call.
func (g *gathering) end(key callKey, c *call) {
	close(c.done)
	g.mu.Lock()
	defer g.mu.Unlock()
	if next := g.calls[key]; next.asked > 0 {
		next.lead <- struct{}{}
	} else {
		delete(g.calls, key)
	}
}

// takeTogether asks Redis for a request, with those that ask at the same time; false:
// it does not answer. The first of a call have the room that is left.
func (l *Limiter) takeTogether(
	ctx context.Context, workspace uuid.UUID, limits [2]int64,
) (at time.Time, counts [2]int64, taken, ok bool) {
	key := callKey{workspace: workspace, limits: limits}
	c, number, leads := l.gather.join(key)
	if !leads {
		select {
		case <-c.lead:
			leads = true
		case <-c.done:
		}
	}
	if leads {
		l.call(ctx, key, c)
	}
	if !c.answered {
		return at, counts, false, false
	}
	counts = c.answer.Counts
	if taken = number <= c.answer.Taken; taken { // as if it had been asked for alone
		counts[0] -= c.answer.Taken - number
		counts[1] -= c.answer.Taken - number
	}
	return c.answer.At, counts, taken, true
}

// call asks Redis for all requests that joined a call.
func (l *Limiter) call(ctx context.Context, key callKey, c *call) {
	defer l.gather.end(key, c)
	ask := redis.RequestAsk{Workspace: key.workspace, Take: l.gather.begin(key, c), Limits: key.limits, Lengths: l.lengths}
	if answers, ok := l.ask(ctx, []redis.RequestAsk{ask}); ok {
		c.answer, c.answered = answers[0], true
	}
}
