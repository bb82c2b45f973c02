package livedata

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/outage"
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

// router returns the current assignment of sources to partitions.
type router interface {
	Route(ctx context.Context) (pointblock.Route, error)
}

// deletionLog is topic points.
type deletionLog interface {
	ProducePoints(ctx context.Context, requestID string, msgs []pointblock.Message) ([]pointblock.Position, error)
}

const (
	// attemptTimeout bounds how long the request that deletes a source tries to write to
	// the log. After that, Run retries.
	attemptTimeout = 2 * time.Second
	// pendingAge is the minimum age of deletions that Run sends: the requests of newer
	// ones are still sending them.
	pendingAge       = 3 * time.Second
	deletionInterval = time.Second
	deletionBatch    = 100
	// finishTimeout bounds one deletion in the background: a source can have a
	// million series.
	finishTimeout = 2 * time.Minute
)

// DeletionSender sends deleted sources from the outbox to the log, at least once: a deletion
// remains in the outbox until the log has acknowledged it and the source's series are removed
// from the registry. Any number of processes may run one: duplicates are harmless.
type DeletionSender struct {
	store  deletionStore
	log    deletionLog
	routes router
	stats  deletionStats
}

// NewDeletionSender creates a sender. The caller must call Run.
func NewDeletionSender(store deletionStore, log deletionLog, routes router) *DeletionSender {
	return &DeletionSender{store: store, log: log, routes: routes}
}

// produceDeletions writes deletions of one source to the log. It uses the current route, so
// that they have higher versions than everything that was acknowledged before.
func (s *DeletionSender) produceDeletions(
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

// Run sends pending deletions until ctx is done, and then returns nil.
func (s *DeletionSender) Run(ctx context.Context) error {
	ticker := time.NewTicker(deletionInterval)
	defer ticker.Stop()
	outages := outage.Log{
		Failed: "deleted sources wait to be sent to the log", Recovered: "deleted sources are sent to the log again",
	}
	for {
		s.refreshBacklog(ctx)
		err := s.sendPending(ctx)
		if ctx.Err() != nil {
			return nil
		}
		outages.Note(ctx, slog.Default(), err)
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

// attempt sends a deletion immediately after its request has committed it. The client may
// already have disconnected.
func (s *DeletionSender) attempt(ctx context.Context, d registry.PendingDeletion) {
	if err := s.finish(context.WithoutCancel(ctx), d, attemptTimeout); err != nil {
		slog.InfoContext(ctx, "a deleted source is sent to the log later", "source", d.Source, "error", err)
	}
}

// finish writes the deletion to the log, removes the source's series from the registry and
// removes the deletion from the outbox. It is idempotent and may be repeated after any
// interruption.
func (s *DeletionSender) finish(ctx context.Context, d registry.PendingDeletion, limit time.Duration) (err error) {
	defer func() {
		if err != nil {
			s.stats.failed.Add(1)
		} else {
			s.stats.sent.Add(1)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	value := pointblock.EncodeDeletions(d.Workspace, d.CreatedAt.UnixMicro(),
		[]pointblock.Deletion{{Source: d.Source, WholeSource: true}})
	_, err = s.produceDeletions(ctx, d.RequestID, d.Source, value)
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
