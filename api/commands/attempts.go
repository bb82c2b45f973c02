package commands

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// MaxAttempts is how often a request may submit a batch because the graph changed meanwhile.
const MaxAttempts = 5

// HoldMargin is how long a request may hold its Idempotency-Key in addition to its wait for the outcome.
const HoldMargin = 15 * time.Second

// NewID creates the id of a batch, which a request reserves with its Idempotency-Key.
func (s *Submitter) NewID(workspace uuid.UUID) uuid.UUID { return s.ids.issue(workspace) }

// Attempts are the attempts of a request to apply one batch, at most MaxAttempts. The ids of the batches
// follow from the reserved id of the request's Idempotency-Key. So a retry finds what an earlier request
// did whose response was not stored, and a batch that is in the log already is applied once.
type Attempts struct {
	submitter *Submitter
	workspace uuid.UUID
	claim     *idempotency.Claim // nil: the request has no key
	made      int
}

// Attempts returns the attempts of a request, of which earlier requests with its key have made some.
func (s *Submitter) Attempts(ctx context.Context, claim *idempotency.Claim) *Attempts {
	return &Attempts{submitter: s, workspace: request.PrincipalOf(ctx).Workspace, claim: claim}
}

// Applied returns the results of the batch that an earlier request with the same key applied, nil if there is none.
func (a *Attempts) Applied(ctx context.Context) ([]graphjson.Answer, error) {
	if a.claim == nil || !a.claim.Resumed() {
		return nil, nil
	}
	for ; a.made < MaxAttempts; a.made++ {
		ref := graphstore.CommandRef{Workspace: a.workspace, ID: a.nextID()}
		outcome, err := outcomeForRetry(ctx, a.submitter.waiter.outcomes, a.submitter.failures, ref, true)
		if err != nil || outcome == nil {
			return nil, err
		}
		if answerOf(outcome, true).Err != nil {
			continue
		}
		results := make([]graphjson.Answer, len(outcome.GetResults()))
		for i := range results {
			results[i] = graphjson.OfResult(outcome, i)
		}
		return results, nil
	}
	return nil, nil
}

// Left reports whether another attempt is allowed.
func (a *Attempts) Left() bool { return a.made < MaxAttempts }

// Submit submits a batch as the next attempt, and returns its outcome as Submitter.Submit does.
func (a *Attempts) Submit(ctx context.Context, actions []graph.Action, waitTimeout time.Duration) (Decided, error) {
	decided, err := a.submitter.submit(ctx, []uuid.UUID{a.nextID()}, [][]graph.Action{actions}, waitTimeout)
	if err != nil {
		return Decided{}, err
	}
	a.made++
	return decided[0], nil
}

// nextID returns the id of the next attempt.
func (a *Attempts) nextID() uuid.UUID {
	if a.claim == nil {
		return a.submitter.ids.issue(a.workspace)
	}
	return a.submitter.ids.nth(a.workspace, a.claim.ID(), a.made)
}
