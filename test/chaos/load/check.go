package load

import (
	"context"
	"fmt"
	"time"
)

const (
	checkLimit = 4 * time.Minute
	// auditPatience is how long records of uses may be on their way to ClickHouse.
	auditPatience = time.Minute
)

// Check looks for everything that must never be, once Settle has waited for it, and
// reduces the model to what was found. What cannot be looked at is a violation of
// number 0.
func (l *Load) Check(ctx context.Context, stores Stores) []Violation {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	var found []Violation
	look := func(what string, check func() ([]Violation, error)) {
		began := time.Now()
		wrong, err := check()
		found = append(found, wrong...)
		if err != nil {
			found = append(found, Violation{0, what + " cannot be checked", err.Error()})
		}
		l.log.DebugContext(ctx, "checked", "what", what, "violations", len(wrong), "took", time.Since(began).Round(time.Millisecond))
	}
	for _, t := range l.tenants {
		look("points of workspace "+t.id, func() ([]Violation, error) { return t.checkPoints(ctx, stores) })
		look("the graph of workspace "+t.id, func() ([]Violation, error) { return t.checkGraph(ctx, stores) })
		look("searches in workspace "+t.id, func() ([]Violation, error) { return t.checkSearch(ctx, stores) })
	}
	look("topic "+eventsTopic, func() ([]Violation, error) { return l.checkTopic(ctx, stores) })
	look("the index of vectors", func() ([]Violation, error) { return l.checkVectors(ctx, stores) })
	if every := l.cfg.ReplayEvery; every > 0 && l.round%every == 1%every {
		look("a replay", func() ([]Violation, error) { return l.checkReplay(ctx, stores) })
		look("the limit of a plan", func() ([]Violation, error) { return l.checkLimit(ctx) })
	}
	look("keys that were taken back", func() ([]Violation, error) {
		for _, gone := range l.keys.list() {
			l.tryGone(ctx, gone)
		}
		return nil, nil
	})
	look("processes", func() ([]Violation, error) { return l.checkProcesses(ctx) })
	if l.round%tenantRounds == 0 {
		look("the removal of a workspace", func() ([]Violation, error) { return l.replaceTenant(ctx) })
	}
	look("the audit log", func() ([]Violation, error) { return l.uses.check(ctx, stores.ClickHouse, auditPatience) })
	return append(l.wrong.take(), found...)
}

// String is the load in a line, for logs.
func (l *Load) String() string {
	return fmt.Sprintf("seed %d, round %d, %d workspaces", l.cfg.Seed, l.round, len(l.tenants))
}
