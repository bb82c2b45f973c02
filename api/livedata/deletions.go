package livedata

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// deletionStore is the outbox of deleted sources.
type deletionStore interface {
	PendingDeletions(ctx context.Context, age time.Duration, limit int) ([]registry.PendingDeletion, error)
	RemoveSeries(ctx context.Context, d registry.PendingDeletion) (more bool, err error)
	FinishDeletion(ctx context.Context, id uuid.UUID) error
	DeletionBacklog(ctx context.Context) (pending int64, oldest time.Duration, err error)
}

// router knows how points and deletions are divided among partitions.
type router interface {
	Route(ctx context.Context) (pointblock.Route, error)
}

// deletionLog is topic points.
type deletionLog interface {
	ProducePoints(ctx context.Context, requestID string, msgs []pointblock.Message) ([]pointblock.Position, error)
}

const (
	// attemptTimeout bounds what the request that deletes a source spends on
	// telling the log. What is left is for Run.
	attemptTimeout = 2 * time.Second
	// pendingAge keeps Run off deletions that a request is still busy with.
	pendingAge       = 3 * time.Second
	deletionInterval = time.Second
	deletionBatch    = 100
	// finishTimeout bounds one deletion in the background: a source can have a
	// million series.
	finishTimeout = 2 * time.Minute
)

// DeletionSender carries deleted sources from the outbox to the log, at least
// once: a deletion stays in the outbox until the log has acknowledged it and the
// source's series are out of the registry. Any number of processes may run one;
// what is sent twice does no harm.
type DeletionSender struct {
	store  deletionStore
	log    deletionLog
	routes router
	outbox outbox
}

// NewDeletionSender creates a sender. Somebody has to call Run.
func NewDeletionSender(store deletionStore, log deletionLog, routes router) *DeletionSender {
	return &DeletionSender{store: store, log: log, routes: routes}
}

// tell writes deletions of one source to the log, by the route of this moment, so that
// they have higher versions than whatever was acknowledged before.
func (s *DeletionSender) tell(
	ctx context.Context, requestID string, source uuid.UUID, value []byte,
) ([]pointblock.Position, error) {
	route, err := s.routes.Route(ctx)
	if err != nil {
		return nil, err
	}
	return s.log.ProducePoints(ctx, requestID, []pointblock.Message{{
		Partition: route.Partition(source), Route: route.Number, Key: source[:], Value: value,
	}})
}

// Run sends what is pending until ctx is done, which is no error.
func (s *DeletionSender) Run(ctx context.Context) error {
	ticker := time.NewTicker(deletionInterval)
	defer ticker.Stop()
	failing := false
	for {
		s.look(ctx)
		err := s.sendPending(ctx)
		if ctx.Err() != nil {
			return nil // told to end
		}
		if failed := err != nil; failed != failing { // once, not each second
			failing = failed
			if failed {
				slog.WarnContext(ctx, "deleted sources wait to be sent to the log", "error", err)
			} else {
				slog.InfoContext(ctx, "deleted sources are sent to the log again")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *DeletionSender) sendPending(ctx context.Context) error {
	for {
		pending, err := s.store.PendingDeletions(ctx, pendingAge, deletionBatch)
		if err != nil {
			return err
		}
		for _, d := range pending {
			if err := s.finish(ctx, d, finishTimeout); err != nil {
				return err
			}
		}
		if len(pending) < deletionBatch {
			return nil
		}
	}
}

// attempt sends a deletion right away, for a request that has committed it and
// whose client may already have left.
func (s *DeletionSender) attempt(ctx context.Context, d registry.PendingDeletion) {
	if err := s.finish(context.WithoutCancel(ctx), d, attemptTimeout); err != nil {
		slog.InfoContext(ctx, "a deleted source is sent to the log later", "source", d.Source, "error", err)
	}
}

// finish tells the log, clears the registry and takes the deletion out of the
// outbox. Done again after any interruption it comes to the same.
func (s *DeletionSender) finish(ctx context.Context, d registry.PendingDeletion, limit time.Duration) (err error) {
	defer func() {
		if err != nil {
			s.outbox.failed.Add(1)
		} else {
			s.outbox.sent.Add(1)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err = s.tell(ctx, d.RequestID, d.Source, pointblock.EncodeDeletions(d.Workspace, d.CreatedAt.UnixMicro(),
		[]pointblock.Deletion{{Source: d.Source, WholeSource: true}}))
	if err != nil {
		return fmt.Errorf("sending the deletion of source %s: %w", d.Source, err)
	}
	for more := true; more; {
		if more, err = s.store.RemoveSeries(ctx, d); err != nil {
			return err
		}
	}
	return s.store.FinishDeletion(ctx, d.ID)
}
