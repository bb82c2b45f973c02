package commands

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

const (
	// abandonAfter is how long after its id was issued a command may still reach the log:
	// many times the maximum duration of a produce.
	abandonAfter = 2 * time.Minute
	// observeLimit bounds reading the end of the log.
	observeLimit = 2 * time.Second
)

// outcomeWriter changes the outcomes of commands that are undecided or failed internally.
type outcomeWriter interface {
	// AbandonCommand stores an outcome for a command that is not in the log.
	AbandonCommand(
		ctx context.Context, ref graphstore.CommandRef, actor uuid.UUID, log graphstore.CommandLogEnd, outcome []byte,
	) ([]byte, error)
	failureStore
}

// failureStore deletes outcomes of internal errors.
type failureStore interface {
	// ForgetFailure deletes the outcome of a command that failed internally, so that it can
	// be decided again.
	ForgetFailure(ctx context.Context, ref graphstore.CommandRef, outcome []byte) (bool, error)
}

// abandon stores and returns a failed outcome for a command that is not in the log. Kafka may
// have been unavailable when the command was accepted, or the process may have died before
// the produce: then the command would be pending for as long as outcomes are kept. The
// outcome is stored once everything is decided that the log contained at a time when the
// command had to be in it. If its record arrives later all the same, after a long pause of a
// network or process, or because its request is repeated, the consumer finds the outcome. So
// a command that was reported as failed is never applied. abandon returns nil if the command
// may still be decided, or if that cannot be determined now.
func (a *api) abandon(ctx context.Context, workspace, id uuid.UUID, issued time.Time) *eventsv1.Outcome {
	if time.Since(issued) < a.AbandonAfter {
		return nil
	}
	outcome, err := a.settle(ctx, workspace, id)
	if err != nil {
		slog.InfoContext(ctx, "whether a command is in the log is unknown", "command", id, "error", err)
		return nil
	}
	return outcome
}

func (a *api) settle(ctx context.Context, workspace, id uuid.UUID) (*eventsv1.Outcome, error) {
	observeCtx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	seen, err := a.Log.ObserveTopic(observeCtx, kafka.TopicCommands)
	if err != nil || len(seen.State) == 0 {
		return nil, err
	}
	partition := kafka.WorkspacePartition(workspace, int32(len(seen.State)))
	lost, err := graphrecord.EncodeOutcome(&eventsv1.Outcome{
		Id:      id[:],
		Failure: graphrecord.FromFault(fault.New(fault.Unavailable, "The command did not reach the log: send it again")),
	})
	if err != nil {
		return nil, err
	}
	end := graphstore.CommandLogEnd{TopicID: seen.ID, Partition: partition, Offset: seen.State[partition].End}
	encoded, err := a.OutcomeWriter.AbandonCommand(
		ctx, graphstore.CommandRef{Workspace: workspace, ID: id}, request.PrincipalOf(ctx).ActorID, end, lost,
	)
	if err != nil || encoded == nil {
		return nil, err
	}
	return graphrecord.DecodeOutcome(encoded)
}
