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
	// perDay is the limit of the workspace by which limits are tried, and asked how often
	// it is asked all in all.
	perDay = 30
	asked  = 50
	// nearMidnight is how close to the end of the UTC day limits are not tried.
	nearMidnight = 2 * time.Minute
)

// failures counts the times that Redis did not count a request for a process.
const failures = "livegraph_ratelimit_redis_failures_total"

// checkLimit makes a workspace with a small number of requests a day and asks more on all
// processes at once: exactly as many are let through. More may be where Redis did not answer
// a process in time, which then counts alone; the processes report whether it did.
func (l *Load) checkLimit(ctx context.Context) ([]Violation, error) {
	if now := time.Now().UTC(); now.Add(nearMidnight).Day() != now.Day() {
		return nil, nil
	}
	t := &tenant{load: l, canary: canaryOf(l.cfg.Seed, 1<<15+l.round)}
	var made struct{ ID string }
	err := l.operator.do(ctx, call{method: http.MethodPost, path: "/admin/api/workspaces", body: body(map[string]any{
		"name": t.canary, "plan": "enterprise", "perDay": perDay,
	})}, http.StatusCreated, &made)
	if err != nil {
		return nil, err
	}
	t.id = made.ID
	key, err := l.operator.makeKey(ctx, t, "limited", "read:nodes")
	if err != nil {
		return nil, err
	}
	failed, err := l.counted(ctx, failures)
	if err != nil {
		return nil, err
	}
	var passed, refused, open atomic.Int64
	var work sync.WaitGroup
	for n := range asked {
		work.Go(func() {
			a, err := l.client.do(ctx, call{
				key: key, foreign: true, api: 1 + n%len(l.cfg.APIs), method: http.MethodGet, path: "/api/queries/nodes?limit=1",
			})
			switch {
			case unknown(a, err):
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
	failedSince, err := l.counted(ctx, failures)
	if err != nil {
		return nil, err
	}
	alone := failedSince > failed
	if n := passed.Load(); n > perDay && !alone || n+open.Load() < perDay {
		return []Violation{
			{16, "a plan's limit does not hold across processes", fmt.Sprintf(
				"workspace %s: %d of %d a day were let through, %d refused, %d not answered", t.id, n, perDay, refused.Load(),
				open.Load(),
			)},
		}, nil
	}
	return nil, nil
}

// counted sums a counter over all processes.
func (l *Load) counted(ctx context.Context, name string) (sum float64, err error) {
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
