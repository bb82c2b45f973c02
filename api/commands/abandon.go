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
	// abandonAfter is how long after its id was made a command may still be on its way
	// into the log: many times what a produce may take.
	abandonAfter = 2 * time.Minute
	// observeLimit is how long the log is asked for its end.
	observeLimit = 2 * time.Second
)

// fate settles what is to become of commands that are not decided, or not well.
type fate interface {
	// AbandonCommand settles that a command is not in the log.
	AbandonCommand(
		ctx context.Context, ref graphstore.CommandRef, actor uuid.UUID, log graphstore.CommandLogEnd, outcome []byte,
	) ([]byte, error)
	// ForgetFailure has a command that failed internally be decided again.
	ForgetFailure(ctx context.Context, ref graphstore.CommandRef, outcome []byte) (bool, error)
}

// abandon returns the outcome of a command that has none. Kafka may have been unavailable when
// it was accepted, or the process may have died before: then it is not in the log and
// would be pending for as long as outcomes are kept. That is settled, once everything
// is decided that is in the log by a time when the command had to be there: it gets an
// outcome, which the consumer finds should its record come all the same, after a
// network's or a process' long sleep, or because its request is repeated. So a command
// that is said to have failed never applies. nil: it may still be decided, or that
// cannot be told now.
func (a *api) abandon(ctx context.Context, workspace, id uuid.UUID, issued time.Time) *eventsv1.Outcome {
	if time.Since(issued) < a.AbandonAfter {
		return nil
	}
	outcome, err := a.settle(ctx, workspace, id)
	if err != nil {
		slog.InfoContext(ctx, "it cannot be told now whether a command is in the log", "command", id, "error", err)
		return nil
	}
	return outcome
}

func (a *api) settle(ctx context.Context, workspace, id uuid.UUID) (*eventsv1.Outcome, error) {
	observing, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	seen, err := a.Log.ObserveTopic(observing, kafka.TopicCommands)
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
	encoded, err := a.Fate.AbandonCommand(
		ctx, graphstore.CommandRef{Workspace: workspace, ID: id}, request.PrincipalOf(ctx).ActorID, end, lost,
	)
	if err != nil || encoded == nil {
		return nil, err
	}
	return graphrecord.DecodeOutcome(encoded)
}
