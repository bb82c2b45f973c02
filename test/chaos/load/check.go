package load

import (
	"context"
	"sync"
	"time"
)

const (
	checkTimeout = 10 * time.Minute
	// auditTimeout bounds the time until audit records are in ClickHouse.
	auditTimeout = 3 * time.Minute
)

// Check checks all invariants once Settle has returned, and reduces the model to the observed
// state. A check that fails is a violation with number 0.
func (l *Load) Check(ctx context.Context, stores Stores) []Violation {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	defer l.logProgress(ctx, "checked")
	var found []Violation
	run := func(what string, check func() ([]Violation, error)) {
		began := time.Now()
		wrong, err := check()
		found = append(found, wrong...)
		if err != nil {
			found = append(found, Violation{0, what + " cannot be checked", err.Error()})
		}
		l.addDuration(what, began)
	}
	runPerTenant := func(what string, check func(*tenant) ([]Violation, error)) {
		run(what, func() (found []Violation, err error) {
			var mu sync.Mutex
			err = l.forEachTenant(func(t *tenant) error {
				wrong, err := check(t)
				mu.Lock()
				defer mu.Unlock()
				found = append(found, wrong...)
				return err
			})
			return found, err
		})
	}
	runPerTenant("points", func(t *tenant) ([]Violation, error) { return t.checkPoints(ctx, stores) })
	runPerTenant("graph", func(t *tenant) ([]Violation, error) { return t.checkGraph(ctx, stores) })
	runPerTenant("searches", func(t *tenant) ([]Violation, error) { return t.checkSearch(ctx, stores) })
	runPerTenant("other workspaces", func(t *tenant) ([]Violation, error) { t.probeOtherAll(ctx); return nil, nil })
	run("topic", func() ([]Violation, error) { return l.checkTopic(ctx, stores) })
	run("vectors", func() ([]Violation, error) { return l.checkVectors(ctx, stores) })
	if every := l.cfg.ReplayEvery; every > 0 && l.round%every == 1%every {
		run("replay", func() ([]Violation, error) { return l.checkReplay(ctx, stores) })
		run("limit", func() ([]Violation, error) { return l.checkDailyLimit(ctx) })
	}
	run("keys", func() ([]Violation, error) {
		for _, gone := range l.revoked.list() {
			l.checkRevoked(ctx, gone)
		}
		return nil, nil
	})
	run("processes", func() ([]Violation, error) { return l.checkProcesses(ctx) })
	if l.round%roundsPerTenant == 0 {
		run("removal", func() ([]Violation, error) { return l.replaceTenant(ctx) })
	}
	run("audit", func() ([]Violation, error) { return l.requests.check(ctx, stores.ClickHouse, auditTimeout) })
	return append(l.findings.drain(), found...)
}

// addDuration adds to the duration of a step of settling or checking.
func (l *Load) addDuration(what string, began time.Time) {
	if l.durations == nil {
		l.durations = map[string]time.Duration{}
	}
	l.durations[what] += time.Since(began)
}

// logProgress logs the counters of the load, and the durations of the steps that took longer than
// 200 ms.
func (l *Load) logProgress(ctx context.Context, what string) {
	args := []any{
		"seed", l.cfg.Seed, "round", l.round, "answered", l.client.answered.Load(), "unanswered", l.client.unanswered.Load(),
	}
	for part, took := range l.durations {
		if took > 200*time.Millisecond {
			args = append(args, part, took.Round(time.Millisecond))
		}
	}
	clear(l.durations)
	l.log.InfoContext(ctx, what, args...)
}
