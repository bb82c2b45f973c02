package points

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// Replayer stores points again, for package replay: with the code of the consumer, under
// their original versions, and without points that were deleted since. It shares no state
// with a consumer of the same process, so that neither delays the other, and so that rows
// that the store has lost are written again.
type Replayer struct{ deps Deps }

// NewReplayer creates a Replayer. It requires Log, Points and Registry of Deps.
func NewReplayer(deps Deps) *Replayer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	return &Replayer{deps: deps}
}

// Begin prepares to store records of the current topic. It returns the id of the topic and
// a function that creates empty batches. If workspace is not nil, batches ignore the points
// and deletions of other workspaces.
func (r *Replayer) Begin(ctx context.Context, workspace *uuid.UUID) ([16]byte, func() consumers.Batch, error) {
	c := newCore(r.deps)
	generations, seen, err := resolveGenerations(ctx, c.deps.Log, c.deps.Registry, c.logger, nil)
	if err != nil {
		return [16]byte{}, nil, err
	}
	c.topicID, c.generations = seen.ID, generations
	if _, err := c.refresh(ctx); err != nil {
		return [16]byte{}, nil, fmt.Errorf("reading tombstones: %w", err)
	}
	return seen.ID, func() consumers.Batch {
		if workspace == nil {
			return &batch{c: c}
		}
		return &workspaceBatch{batch: &batch{c: c}, workspace: *workspace}
	}, nil
}

// RepeatDeletions schedules the deletions since a time for another execution. A run that was
// interrupted may have inserted rows that a deletion covers without having checked for the
// deletion afterwards.
func (r *Replayer) RepeatDeletions(ctx context.Context, since time.Time) error {
	return r.deps.Registry.RepeatDeletionsSince(ctx, since)
}

// workspaceBatch is a batch that ignores records of other workspaces.
type workspaceBatch struct {
	*batch
	workspace uuid.UUID
}

// Add adds a record if it belongs to the workspace.
func (b *workspaceBatch) Add(r *kgo.Record) error {
	rec, err := b.c.decode(r)
	if err != nil {
		return err
	}
	if rec.Workspace != b.workspace {
		b.c.putRecord(rec)
		return nil
	}
	b.addDecoded(rec)
	return nil
}

// noteDeadLetters stores which records became dead letters, so that a checkpoint that has
// passed one reports it, and queues events for webhooks.
func (h handler) noteDeadLetters(ctx context.Context, deadLetters []kafka.DeadLetter) error {
	h.mu.Lock()
	id := h.topicID
	h.mu.Unlock()
	positions := make([]jobs.LogPosition, len(deadLetters))
	for i, l := range deadLetters {
		positions[i] = jobs.LogPosition{Partition: l.Record.Partition, Offset: l.Record.Offset}
	}
	if err := h.deps.Registry.AddDeadRecords(ctx, id, positions); err != nil {
		return err
	}
	dead := consumers.DeadRecords(deadLetters, func(r *kgo.Record) (uuid.UUID, error) {
		var rec pointblock.Record
		err := pointblock.Decode(r.Value, &rec)
		return rec.Workspace, err
	})
	return h.deps.Registry.QueueDeadRecords(ctx, hooks.PointsDead, dead)
}
