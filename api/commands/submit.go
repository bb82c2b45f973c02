package commands

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// batchLog is the topic of commands.
type batchLog interface {
	ProduceCommands(ctx context.Context, records []kafka.Record) error
}

// Submitter submits atomic batches on behalf of the caller of another route, and waits for their
// outcomes.
type Submitter struct {
	log      batchLog
	waiter   *Waiter
	failures failureStore
	ids      issuer
}

// NewSubmitter creates a Submitter. The waiter must be running while it is used. idKey is the key of
// Deps.IDKey.
func NewSubmitter(log batchLog, waiter *Waiter, failures failureStore, idKey [32]byte) *Submitter {
	return &Submitter{log: log, waiter: waiter, failures: failures, ids: issuer{key: idKey}}
}

// CheckCapacity returns an Unavailable error if no further wait may begin.
func (s *Submitter) CheckCapacity() error { return s.waiter.checkCapacity() }

// Decided is the outcome of a batch.
type Decided struct {
	CommandID uuid.UUID
	Err       error // nil: the batch was applied
}

// Submit writes the batches to the log, each as one record, and returns the outcome of each, at most
// after waitTimeout. If the log is unavailable or an outcome is not known in time, it returns an
// error: any of the batches may have been applied, or be applied later.
func (s *Submitter) Submit(
	ctx context.Context, batches [][]graph.Action, waitTimeout time.Duration,
) ([]Decided, error) {
	workspace := request.PrincipalOf(ctx).Workspace
	ids := make([]uuid.UUID, len(batches))
	for i := range ids {
		ids[i] = s.ids.issue(workspace)
	}
	return s.submit(ctx, ids, batches, waitTimeout)
}

// submit is Submit with the ids of the batches.
func (s *Submitter) submit(
	ctx context.Context, ids []uuid.UUID, batches [][]graph.Action, waitTimeout time.Duration,
) ([]Decided, error) {
	workspace, origin := request.PrincipalOf(ctx).Workspace, originOf(ctx)
	decided := make([]Decided, len(batches))
	waits := make([]*wait, 0, len(batches))
	defer func() {
		for _, w := range waits {
			w.end()
		}
	}()
	records := make([]kafka.Record, len(batches))
	for i, actions := range batches {
		id := ids[i]
		encoded, err := graphrecord.EncodeRequest(&graphrecord.Request{
			Workspace: workspace, Mode: graphrecord.Atomic, ID: id, Actions: actions, Origin: origin,
		})
		if err != nil {
			return nil, err
		}
		begun, err := s.waiter.begin(graphstore.CommandRef{Workspace: workspace, ID: id})
		if err != nil {
			return nil, err
		}
		waits, decided[i].CommandID = append(waits, begun), id
		records[i] = kafka.Record{
			Workspace: workspace, Value: encoded, RequestID: origin.RequestID, ReplyTo: s.waiter.replies.Address(),
		}
	}
	if err := s.log.ProduceCommands(ctx, records); err != nil {
		return nil, err
	}
	return decided, collect(ctx, waits, decided, waitTimeout)
}

// collect waits for the outcomes, in total for waitTimeout.
func collect(ctx context.Context, waits []*wait, decided []Decided, waitTimeout time.Duration) error {
	deadline := time.Now().Add(waitTimeout)
	for i, w := range waits {
		encoded, err := w.outcome(ctx, max(time.Until(deadline), 0))
		if err != nil {
			return err
		}
		if encoded == nil {
			return fault.New(fault.Timeout, "Not all changes are decided yet; a repeated request has no second effect").
				After(time.Second)
		}
		outcome, err := graphrecord.DecodeOutcome(encoded)
		if err != nil {
			return err
		}
		decided[i].Err = answerOf(outcome, true).Err
	}
	return nil
}
