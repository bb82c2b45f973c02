package load

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// dailyLimit is the limit of the workspace of checkDailyLimit; requestsSent is the number of
	// requests sent to it.
	dailyLimit   = 30
	requestsSent = 50
	// nearMidnight is the time before the end of the UTC day in which limits are not checked.
	nearMidnight = 2 * time.Minute
)

// redisFailuresMetric counts the requests that a process could not count in Redis.
const redisFailuresMetric = "livegraph_ratelimit_redis_failures_total"

// checkDailyLimit creates a workspace with a small daily limit and sends more requests to all
// processes concurrently: exactly as many as the limit must be allowed. More may be allowed where
// Redis did not answer a process in time, which then counts by itself; the processes report that in
// a metric.
func (l *Load) checkDailyLimit(ctx context.Context) ([]Violation, error) {
	if now := time.Now().UTC(); now.Add(nearMidnight).Day() != now.Day() {
		return nil, nil
	}
	t := &tenant{load: l, canary: canaryOf(l.cfg.Seed, 1<<15+l.round)}
	var created struct{ ID string }
	err := l.operator.do(ctx, call{method: http.MethodPost, path: "/admin/api/workspaces", body: body(map[string]any{
		"name": t.canary, "plan": "enterprise", "perDay": dailyLimit,
	})}, http.StatusCreated, &created)
	if err != nil {
		return nil, err
	}
	t.id = created.ID
	key, err := l.operator.createKey(ctx, t, "limited", "read:nodes")
	if err != nil {
		return nil, err
	}
	failed, err := l.sumCounter(ctx, redisFailuresMetric)
	if err != nil {
		return nil, err
	}
	var passed, refused, open atomic.Int64
	var work sync.WaitGroup
	for n := range requestsSent {
		work.Go(func() {
			a, err := l.client.do(ctx, call{
				key: key, errorExpected: true, api: 1 + n%len(l.cfg.APIs), method: http.MethodGet,
				path: "/api/queries/nodes?limit=1",
			})
			switch {
			case outcomeUnknown(a, err):
				open.Add(1)
			case a.Status == http.StatusTooManyRequests:
				refused.Add(1)
			default:
				passed.Add(1)
			}
		})
	}
	work.Wait()
	if err := l.operator.do(
		ctx, call{method: http.MethodDelete, path: "/admin/api/workspaces/" + t.id}, http.StatusAccepted, nil,
	); err != nil {
		return nil, err
	}
	failedSince, err := l.sumCounter(ctx, redisFailuresMetric)
	if err != nil {
		return nil, err
	}
	countedAlone := failedSince > failed
	if n := passed.Load(); n > dailyLimit && !countedAlone || n+open.Load() < dailyLimit {
		return []Violation{
			{16, "a plan's limit does not hold across processes", fmt.Sprintf(
				"workspace %s: %d of %d a day were let through, %d refused, %d not answered", t.id, n, dailyLimit, refused.Load(),
				open.Load(),
			)},
		}, nil
	}
	return nil, nil
}

// sumCounter returns the sum of a counter over all processes.
func (l *Load) sumCounter(ctx context.Context, name string) (sum float64, err error) {
	for _, url := range l.cfg.Metrics {
		page, err := l.metrics(ctx, url)
		if err != nil {
			return 0, err
		}
		families, err := parseMetrics(page)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", url, err)
		}
		for _, m := range families[name].GetMetric() {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum, nil
}
