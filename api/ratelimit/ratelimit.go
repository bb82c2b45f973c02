// Package ratelimit counts the requests of workspaces against their plans, and the
// failed authentications of addresses.
//
// A plan limits the number of requests per minute and per day of UTC. Redis counts the
// requests, by its clock and in one atomic step, so that exactly the allowed number passes
// over all processes together. A refused request is not counted. Each process stores the
// highest counts that it has seen and sends them with each call, so that a Redis that has
// lost its data continues from there. While Redis does not answer, a process counts alone
// from the counts that it has, and Redis continues from the process's count afterwards.
// Such a count is never above the number of requests that passed, so no request is refused
// below the plan. Concurrent requests of one workspace in a process are counted by one call.
//
// In a Redis Cluster each workspace is counted by one of the servers. The process knows the clock of each
// server, and calls the others while one does not answer.
//
// A workspace without limits is not counted. The package does not depend on HTTP.
package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/storage/redis"
)

// errLate means that two answers were received, but both were too late to count.
var errLate = errors.New("the clock of Redis is ahead of what it just said")

// Unlimited is the limit of a window without a limit.
const Unlimited int64 = math.MaxInt32

// DefaultTimeout is the default time limit of a call of Redis, and so of the delay of a
// request if Redis hangs.
const DefaultTimeout = 250 * time.Millisecond

// counter counts requests in Redis.
type counter interface {
	CountRequest(ctx context.Context, request *redis.RequestQuery) (redis.RequestResult, error)
	CountRequests(ctx context.Context, requests []redis.RequestQuery) ([]redis.RequestResult, error)
	// Server returns the server that counts the requests of a workspace.
	Server(ctx context.Context, workspace uuid.UUID) string
}

// Deps are the dependencies and settings of a Limiter.
type Deps struct {
	Counter counter       // nil: the process counts alone
	Timeout time.Duration // of a call of Redis; 0: DefaultTimeout
	Logger  *slog.Logger  // nil: slog.Default()
	Metrics prometheus.Registerer
	// Minute and Day override the lengths of the windows, for tests.
	Minute, Day time.Duration
}

// Limiter counts the requests of workspaces. It is safe for concurrent use. It need not be
// closed.
type Limiter struct {
	counter counter
	timeout time.Duration
	logger  *slog.Logger
	lengths [2]time.Duration
	servers servers
	local   localCounts
	batches batcher
	metrics metrics
}

// New creates a Limiter.
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

// Take counts a request of the workspace, unless its plan is exhausted. It does not fail,
// and takes at most little longer than twice the timeout: requests that arrive during a
// call for the same workspace wait for it and are then counted by one call.
func (l *Limiter) Take(ctx context.Context, workspace uuid.UUID, plan Plan) Status {
	plan = plan.bounded()
	if plan.unlimited() {
		l.metrics.unlimited.Inc()
		return l.standing(plan, l.servers.get("").clock.now(), [2]int64{}, false)
	}
	standing, decider := l.take(ctx, workspace, plan)
	decider.Inc()
	if w := standing.Exceeded(); w != nil {
		l.metrics.refused[w.Name].Inc()
	}
	return standing
}

func (l *Limiter) take(ctx context.Context, workspace uuid.UUID, plan Plan) (Status, prometheus.Counter) {
	limits, s := plan.limits(), l.server(ctx, workspace)
	if now, counts, exhausted := l.local.exhausted(workspace, limits, &s.clock, l.lengths); exhausted {
		return l.standing(plan, now, counts, true), l.metrics.byMemory
	}
	if now, counts, taken, ok := l.takeBatched(ctx, s, workspace, limits); ok {
		return l.standing(plan, now, counts, !taken), l.metrics.byRedis
	}
	now, counts, taken := l.local.take(workspace, limits, s.clock.now(), l.lengths)
	return l.standing(plan, now, counts, !taken), l.metrics.byProcess
}

// Peek returns the state of the workspaces, in the same order, without counting a request.
func (l *Limiter) Peek(ctx context.Context, workspaces []WorkspacePlan) []Status {
	standings := make([]Status, len(workspaces))
	byServer := map[*server][]int{}
	for i, w := range workspaces {
		if plan := w.Plan.bounded(); plan.unlimited() {
			standings[i] = l.standing(plan, l.servers.get("").clock.now(), [2]int64{}, false)
			continue
		}
		s := l.server(ctx, w.Workspace)
		byServer[s] = append(byServer[s], i)
	}
	for s, limited := range byServer {
		requests := make([]redis.RequestQuery, len(limited))
		for n, i := range limited {
			w := workspaces[i]
			requests[n] = redis.RequestQuery{Workspace: w.Workspace, Limits: w.Plan.bounded().limits(), Lengths: l.lengths}
		}
		answers, ok := l.query(ctx, s, requests)
		for n, i := range limited {
			var now time.Time
			var counts [2]int64
			if ok {
				now, counts = answers[n].At, answers[n].Counts
			} else {
				now, counts = l.local.peek(workspaces[i].Workspace, s.clock.now(), l.lengths)
			}
			standings[i] = l.standing(workspaces[i].Plan.bounded(), now, counts, false)
		}
	}
	return standings
}

// query sends requests to their server and stores its counts. It returns false if the server does not
// answer.
func (l *Limiter) query(ctx context.Context, s *server, requests []redis.RequestQuery) ([]redis.RequestResult, bool) {
	if l.counter == nil || !s.breaker.Allow() {
		return nil, false
	}
	// A canceled request must not cancel the call: Redis would appear not to answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	answers, err := l.count(ctx, s, requests)
	if err != nil {
		l.metrics.failures.Inc()
		if s.breaker.RecordFailure() {
			s.log(l.logger).WarnContext(
				ctx, "Redis does not count requests: this process enforces the plans alone", "error", err,
			)
		}
		return nil, false
	}
	if s.breaker.RecordSuccess() {
		s.log(l.logger).InfoContext(ctx, "Redis counts requests again")
	}
	return answers, true
}

// count sends the requests once. If the server's clock differs from the known one, it corrects the
// clock by the first answer and sends them once more.
func (l *Limiter) count(
	ctx context.Context, s *server, requests []redis.RequestQuery,
) (answers []redis.RequestResult, err error) {
	for range 2 {
		start := time.Now()
		notAfter := s.clock.at(start.Add(2 * l.timeout)) // the clock is known to within half a round trip
		for i := range requests {
			requests[i].NotAfter = notAfter
			requests[i].Known = l.local.windows(requests[i].Workspace)
		}
		if len(requests) == 1 {
			answers = make([]redis.RequestResult, 1)
			answers[0], err = l.counter.CountRequest(ctx, &requests[0])
		} else {
			answers, err = l.counter.CountRequests(ctx, requests)
		}
		if err != nil {
			return nil, err
		}
		l.metrics.duration.Observe(time.Since(start).Seconds())
		s.clock.set(answers[0].At, start, time.Now())
		late := false
		for i := range answers {
			if late = late || answers[i].Late; answers[i].Late {
				continue
			}
			if answers[i].Behind {
				l.metrics.behind.Inc()
			}
			l.local.merge(requests[i].Workspace, &answers[i], l.lengths)
		}
		if !late {
			return answers, nil
		}
	}
	return nil, errLate
}
