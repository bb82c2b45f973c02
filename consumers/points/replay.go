package points

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// Replayer stores points once more, for package replay: by the same code as the
// consumer, under the versions that they have, and without what was deleted since.
// It shares nothing with a consumer of the same process, so that neither holds up
// the other, and so that what the store has lost is written again.
type Replayer struct{ deps Deps }

// NewReplayer creates one. Of Deps it needs Log, Points and Registry.
func NewReplayer(deps Deps) *Replayer {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	return &Replayer{deps: deps}
}

// Begin makes ready to store records of the topic as it is now: it gives the topic's
// id, and what makes empty batches. A workspace narrows them to its points; the
// deletions of others stay out as well.
func (r *Replayer) Begin(ctx context.Context, workspace *uuid.UUID) ([16]byte, func() consumers.Batch, error) {
	c := newCore(r.deps)
	generations, seen, err := resolve(ctx, c.deps.Log, c.deps.Registry, c.logger, nil)
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
		return &ofWorkspace{batch: &batch{c: c}, workspace: *workspace}
	}, nil
}

// TakeOver has the deletions since a time done once more: a run that ended in the middle
// may have inserted rows from before one, and not been able to look for it afterwards.
func (r *Replayer) TakeOver(ctx context.Context, since time.Time) error {
	return r.deps.Registry.RepeatDeletionsSince(ctx, since)
}

// ofWorkspace is a batch that leaves out what is of other workspaces.
type ofWorkspace struct {
	*batch
	workspace uuid.UUID
}

// Add takes a record if it is the workspace's.
func (b *ofWorkspace) Add(r *kgo.Record) error {
	rec, err := b.c.decode(r)
	if err != nil {
		return err
	}
	if rec.Workspace != b.workspace {
		b.c.giveRecord(rec)
		return nil
	}
	b.take(rec)
	return nil
}

// OnDeadLetters notes which records were put aside, so that a checkpoint that has passed
// one says so.
func (h handler) OnDeadLetters(ctx context.Context, letters []kafka.DeadLetter) error {
	h.mu.Lock()
	id := h.topicID
	h.mu.Unlock()
	places := make([]jobs.LogPosition, len(letters))
	for i, l := range letters {
		places[i] = jobs.LogPosition{Partition: l.Record.Partition, Offset: l.Record.Offset}
	}
	return h.deps.Registry.AddDeadRecords(ctx, id, places)
}
