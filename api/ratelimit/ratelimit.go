// Package ratelimit counts the requests of workspaces against their plans, and the
// failed authentications of addresses.
//
// A plan allows so many requests in each minute and in each day of UTC. They are
// counted in Redis, by its clock and in one atomic step, so exactly that many pass
// over all processes together; a request that is refused is not counted. Each process
// remembers the highest counts that it has seen, and sends them along: a Redis that
// has lost its data goes on from there. While Redis does not answer, a process goes on
// alone from what it knows, and its own count is what Redis goes on from afterwards.
// A count that is handed on so is never above what truly passed, so nobody is refused
// below the plan. Requests of one workspace that meet in a process are counted by one call.
//
// A workspace without limits is not counted at all. The package knows nothing of HTTP.
package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/platform/breaker"
	"github.com/livegraph/livegraph/storage/redis"
)

// errLate says that two answers came, but later than the asker waits.
var errLate = errors.New("the clock of Redis is ahead of what it just said")

// Unlimited is the limit of a window that has none.
const Unlimited int64 = math.MaxInt32

// DefaultTimeout bounds how long Redis is waited for, and so how much longer a request
// takes because Redis hangs.
const DefaultTimeout = 250 * time.Millisecond

// counter is what the limiter needs of Redis.
type counter interface {
	CountRequest(ctx context.Context, ask *redis.RequestAsk) (redis.RequestAnswer, error)
	CountRequests(ctx context.Context, asks []redis.RequestAsk) ([]redis.RequestAnswer, error)
}

// Deps is what a limiter is made of.
type Deps struct {
	Counter counter       // nil: the process is alone
	Timeout time.Duration // how long Redis is waited for; 0: DefaultTimeout
	Logger  *slog.Logger  // nil: the default one
	Metrics prometheus.Registerer
	// Minute and Day are other lengths of the windows, for tests.
	Minute, Day time.Duration
}

// Limiter counts the requests of workspaces. It is safe for concurrent use and has
// nothing to close.
type Limiter struct {
	counter counter
	timeout time.Duration
	logger  *slog.Logger
	lengths [2]time.Duration
	clock   clock
	breaker breaker.Breaker // leaves Redis alone while it does not answer
	known   memory
	gather  gathering
	metrics metrics
}

// New creates a limiter.
func New(d Deps) *Limiter {
	l := &Limiter{
		counter: d.Counter, timeout: d.Timeout, logger: d.Logger, lengths: [2]time.Duration{d.Minute, d.Day},
		metrics: newMetrics(d.Metrics),
	}
	if l.timeout <= 0 {
		l.timeout = DefaultTimeout
	}
	if l.logger == nil {
		l.logger = slog.Default()
	}
	for i, length := range []time.Duration{time.Minute, 24 * time.Hour} {
		if l.lengths[i] <= 0 {
			l.lengths[i] = length
		}
	}
	return l
}

// Take counts a request of the workspace, unless its plan has no room for it. It
// does not fail, and takes little longer than twice the time-out at worst: requests that
// come while Redis is asked for the same workspace are then asked for together.
func (l *Limiter) Take(ctx context.Context, workspace uuid.UUID, plan Plan) Standing {
	plan = plan.bounded()
	if plan.unlimited() {
		l.metrics.unlimited.Inc()
		return l.standing(plan, l.clock.now(), [2]int64{}, false)
	}
	standing, by := l.take(ctx, workspace, plan)
	by.Inc()
	if w := standing.Refusing(); w != nil {
		l.metrics.refused[w.Name].Inc()
	}
	return standing
}

func (l *Limiter) take(ctx context.Context, workspace uuid.UUID, plan Plan) (Standing, prometheus.Counter) {
	limits := plan.limits()
	if now, counts, spent := l.known.spent(workspace, limits, &l.clock, l.lengths); spent {
		return l.standing(plan, now, counts, true), l.metrics.byMemory
	}
	if at, counts, taken, ok := l.takeTogether(ctx, workspace, limits); ok {
		return l.standing(plan, at, counts, !taken), l.metrics.byRedis
	}
	now, counts, taken := l.known.take(workspace, limits, l.clock.now(), l.lengths)
	return l.standing(plan, now, counts, !taken), l.metrics.byProcess
}

// Look returns the state of workspaces, in the order of asked, and counts nothing.
func (l *Limiter) Look(ctx context.Context, asked []Of) []Standing {
	standings := make([]Standing, len(asked))
	var asks []redis.RequestAsk
	var limited []int
	for i, of := range asked {
		plan := of.Plan.bounded()
		if plan.unlimited() {
			standings[i] = l.standing(plan, l.clock.now(), [2]int64{}, false)
			continue
		}
		asks = append(asks, redis.RequestAsk{Workspace: of.Workspace, Limits: plan.limits(), Lengths: l.lengths})
		limited = append(limited, i)
	}
	if len(asks) == 0 {
		return standings
	}
	answers, ok := l.ask(ctx, asks)
	for n, i := range limited {
		var now time.Time
		var counts [2]int64
		if ok {
			now, counts = answers[n].At, answers[n].Counts
		} else {
			now, counts = l.known.look(asked[i].Workspace, l.clock.now(), l.lengths)
		}
		standings[i] = l.standing(asked[i].Plan.bounded(), now, counts, false)
	}
	return standings
}

// ask asks Redis, and remembers what it says; false: it does not answer.
func (l *Limiter) ask(ctx context.Context, asks []redis.RequestAsk) ([]redis.RequestAnswer, bool) {
	if l.counter == nil || !l.breaker.Admits() {
		return nil, false
	}
	// Anyone who leaves does not take the count along: Redis would seem not to answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	answers, err := l.count(ctx, asks)
	if err != nil {
		l.metrics.failures.Inc()
		if l.breaker.Failed() {
			l.logger.WarnContext(ctx, "Redis does not count requests: this process enforces the plans alone", "error", err)
		}
		return nil, false
	}
	if l.breaker.Answered() {
		l.logger.InfoContext(ctx, "Redis counts requests again")
	}
	return answers, true
}

// count asks once; and once more when Redis' clock was found to be another than was
// thought, which the first answer has set right.
func (l *Limiter) count(ctx context.Context, asks []redis.RequestAsk) (answers []redis.RequestAnswer, err error) {
	for range 2 {
		began := time.Now()
		notAfter := l.clock.on(began.Add(2 * l.timeout)) // the clock is known to within half a round trip
		for i := range asks {
			asks[i].NotAfter = notAfter
			asks[i].Known = l.known.of(asks[i].Workspace)
		}
		if len(asks) == 1 {
			answers = make([]redis.RequestAnswer, 1)
			answers[0], err = l.counter.CountRequest(ctx, &asks[0])
		} else {
			answers, err = l.counter.CountRequests(ctx, asks)
		}
		if err != nil {
			return nil, err
		}
		l.metrics.duration.Observe(time.Since(began).Seconds())
		l.clock.set(answers[0].At, began, time.Now())
		late := false
		for i := range answers {
			if late = late || answers[i].Late; answers[i].Late {
				continue
			}
			if answers[i].Behind {
				l.metrics.behind.Inc()
			}
			l.known.learn(asks[i].Workspace, &answers[i], l.lengths)
		}
		if !late {
			return answers, nil
		}
	}
	return nil, errLate
}
