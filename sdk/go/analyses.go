package livegraph

import (
	"context"
	"iter"
	"time"
)

// Analyses are jobs that compute a measure of all nodes of the graph, and may write it to a property of them. All
// methods require the scopes read:nodes and read:edges.
type Analyses struct{ t *transport }

// Create queues an analysis and returns it. With a Property it requires write:nodes, too. The error is [ErrConflict] if
// the workspace has 10 that are queued or running.
func (a *Analyses) Create(ctx context.Context, analysis NewAnalysis, options ...CallOption) (*Analysis, error) {
	r, err := createAnalysis.withBody(analysis)
	if err != nil {
		return nil, err
	}
	r.set("Idempotency-Key", newCallOptions(options).idempotencyKey)
	return fetch[*Analysis](ctx, a.t, r)
}

// Get returns an analysis, with its result when it is computed.
func (a *Analyses) Get(ctx context.Context, id string) (*Analysis, error) {
	return fetch[*Analysis](ctx, a.t, getAnalysis.request(id))
}

// List returns a page of the analyses, newest first, without their results.
func (a *Analyses) List(ctx context.Context, paging Paging) (*Page[Analysis], error) {
	return fetchPage[Analysis](ctx, a.t, listAnalyses.withQuery(paging.values(nil)))
}

// All iterates over all analyses, newest first, without their results.
func (a *Analyses) All(ctx context.Context) iter.Seq2[Analysis, error] {
	return pages[Analysis](ctx, a.t, listAnalyses.request())
}

// Cancel cancels an analysis and returns it. With a Property it requires write:nodes, too. The error is [ErrConflict]
// if it is done or has failed.
func (a *Analyses) Cancel(ctx context.Context, id string) (*Analysis, error) {
	return fetch[*Analysis](ctx, a.t, cancelAnalysis.request(id))
}

// analysisInterval is how often Wait reads an analysis.
const analysisInterval = time.Second

// Wait waits until an analysis is done, has failed or is cancelled, and returns it.
func (a *Analyses) Wait(ctx context.Context, id string) (*Analysis, error) {
	for {
		analysis, err := a.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		switch analysis.State {
		case AnalysisStateDone, AnalysisStateFailed, AnalysisStateCancelled:
			return analysis, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(analysisInterval):
		}
	}
}
