package load

import (
	"context"
	"sync"
	"time"
)

const (
	checkLimit = 10 * time.Minute
	// auditPatience is how long records of uses may be on their way to ClickHouse.
	auditPatience = 3 * time.Minute
)

// Check looks for everything that must never be, once Settle has waited for it, and
// reduces the model to what was found. What cannot be looked at is a violation of
// number 0.
func (l *Load) Check(ctx context.Context, stores Stores) []Violation {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	defer l.say(ctx, "checked")
	var found []Violation
	look := func(what string, check func() ([]Violation, error)) {
		began := time.Now()
		wrong, err := check()
		found = append(found, wrong...)
		if err != nil {
			found = append(found, Violation{0, what + " cannot be checked", err.Error()})
		}
		l.took(what, began)
	}
	tenants := func(what string, check func(*tenant) ([]Violation, error)) {
		look(what, func() (found []Violation, err error) {
			var mu sync.Mutex
			err = l.each(func(t *tenant) error {
				wrong, err := check(t)
				mu.Lock()
				defer mu.Unlock()
				found = append(found, wrong...)
				return err
			})
			return found, err
		})
	}
	tenants("points", func(t *tenant) ([]Violation, error) { return t.checkPoints(ctx, stores) })
	tenants("graph", func(t *tenant) ([]Violation, error) { return t.checkGraph(ctx, stores) })
	tenants("searches", func(t *tenant) ([]Violation, error) { return t.checkSearch(ctx, stores) })
	tenants("other workspaces", func(t *tenant) ([]Violation, error) { t.pryAll(ctx); return nil, nil })
	look("topic", func() ([]Violation, error) { return l.checkTopic(ctx, stores) })
	look("vectors", func() ([]Violation, error) { return l.checkVectors(ctx, stores) })
	if every := l.cfg.ReplayEvery; every > 0 && l.round%every == 1%every {
		look("replay", func() ([]Violation, error) { return l.checkReplay(ctx, stores) })
		look("limit", func() ([]Violation, error) { return l.checkLimit(ctx) })
	}
	look("keys", func() ([]Violation, error) {
		for _, gone := range l.keys.list() {
			l.tryGone(ctx, gone)
		}
		return nil, nil
	})
	look("processes", func() ([]Violation, error) { return l.checkProcesses(ctx) })
	if l.round%tenantRounds == 0 {
		look("removal", func() ([]Violation, error) { return l.replaceTenant(ctx) })
	}
	look("audit", func() ([]Violation, error) { return l.uses.check(ctx, stores.ClickHouse, auditPatience) })
	return append(l.wrong.take(), found...)
}

// took notes how long a part of settling or checking took.
func (l *Load) took(what string, began time.Time) {
	if l.times == nil {
		l.times = map[string]time.Duration{}
	}
	l.times[what] += time.Since(began)
}

// say logs what the load has done so far, and how long the parts of the last step took,
// where that is noticeable.
func (l *Load) say(ctx context.Context, what string) {
	args := []any{
		"seed", l.cfg.Seed, "round", l.round, "answered", l.client.answered.Load(), "unanswered", l.client.unanswered.Load(),
	}
	for part, took := range l.times {
		if took > 200*time.Millisecond {
			args = append(args, part, took.Round(time.Millisecond))
		}
	}
	clear(l.times)
	l.log.InfoContext(ctx, what, args...)
}
