package run

import (
	"context"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// lossLoad is the load for faults that lose data: it sends requests, ignores what becomes of those
// sent during the fault, and requires that later ones have their effect on each path through the
// log.
type lossLoad struct{ paths *Paths }

func newLossLoad(ctx context.Context, env *environment.Environment) (lossLoad, error) {
	paths, err := NewPaths(ctx, env.APIs(), env.First, 1)
	return lossLoad{paths}, err
}

// Run sends points and creates nodes until ctx ends. It ignores the outcomes.
func (s lossLoad) Run(ctx context.Context) {
	for ctx.Err() == nil {
		_, _ = s.paths.ingest(ctx)
		_, _ = s.paths.create(ctx, "a node")
		sleep(ctx, 20*time.Millisecond)
	}
}

// Settle waits until each path works.
func (s lossLoad) Settle(ctx context.Context) error { return s.paths.Await(ctx) }

// Check returns no violations: the losses are expected.
func (s lossLoad) Check(context.Context) []Violation { return nil }
