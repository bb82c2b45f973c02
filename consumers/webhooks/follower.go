package webhooks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
	"github.com/livegraph/livegraph/storage/postgres/journal"
)

const (
	defaultFollowInterval = 250 * time.Millisecond
	chunkEvents           = 1_000   // that one transaction queues for a webhook
	chunkChanges          = 1_000   // that are read for them
	chunkBytes            = 8 << 20 // of the journal
	chunksPerTurn         = 20      // of a group before it is the turn of the next one
)

// FollowerStore has webhooks, the journal, and edges; see storage/postgres.
type FollowerStore interface {
	cascadeReader
	Behind(ctx context.Context) ([]hooks.Behind, error)
	Advance(
		ctx context.Context, b *hooks.Behind, events []hooks.Event, next hooks.Position,
	) (queued hooks.Queued, moved int, err error)
	ChangesAfter(ctx context.Context, workspace uuid.UUID, after int64, limit int) ([]journal.ChangeSize, error)
	Changes(ctx context.Context, workspace uuid.UUID, sizes []journal.ChangeSize) ([]*eventsv1.Change, error)
}

// FollowerDeps are the dependencies and settings of a Follower.
type FollowerDeps struct {
	Store    FollowerStore
	Queue    *Queue
	Interval time.Duration // between two searches for changes; 0: 250 ms
	Logger   *slog.Logger  // nil: slog.Default()
}

// Follower queues the changes of graphs. It reads them from the journal, from the position of each webhook on. Several
// followers, in one or more processes, queue nothing twice: the position moves in the transaction that queues. A
// webhook whose queue is full stays where it is, so no change is lost.
type Follower struct {
	deps   FollowerDeps
	logger *slog.Logger
}

// NewFollower creates a Follower. It does nothing until Run is called.
func NewFollower(deps FollowerDeps) *Follower {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	if deps.Interval <= 0 {
		deps.Interval = defaultFollowInterval
	}
	return &Follower{deps: deps, logger: deps.Logger.With("component", "webhooks")}
}

// Run follows the journals until ctx is done, and returns nil.
func (f *Follower) Run(ctx context.Context) error {
	outages := outage.Log{
		Failed:    "changes of graphs cannot be queued for webhooks",
		Recovered: "changes of graphs are queued for webhooks again",
	}
	for sleep.For(ctx, f.deps.Interval) {
		err := f.round(ctx)
		if ctx.Err() == nil {
			outages.Note(ctx, f.logger, err)
		}
	}
	return nil
}

// round queues changes until no webhook with room lacks any. An error of one group does not keep the others waiting.
func (f *Follower) round(ctx context.Context) error {
	for {
		groups, err := f.deps.Store.Behind(ctx)
		if err != nil {
			return err
		}
		moved := false
		for i := range groups {
			advanced, failure := f.follow(ctx, &groups[i])
			moved = moved || advanced
			if failure != nil {
				err = fmt.Errorf("workspace %s: %w", groups[i].Workspace, failure)
			}
		}
		if !moved || err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// follow queues changes for a group, and reports whether a webhook moved.
func (f *Follower) follow(ctx context.Context, b *hooks.Behind) (moved bool, err error) {
	for range chunksPerTurn {
		events, next, err := f.chunk(ctx, b)
		if err != nil {
			return moved, err
		}
		queued, n, err := f.deps.Store.Advance(ctx, b, events, next)
		if err != nil {
			return moved, err
		}
		f.deps.Queue.count(queued)
		if n == 0 {
			return moved, nil
		}
		moved = true
		if b.Position = next; next.Sequence >= b.Head {
			return moved, nil
		}
	}
	return moved, nil
}

// chunk returns the next events of a group, and the position after them.
func (f *Follower) chunk(ctx context.Context, b *hooks.Behind) (events []hooks.Event, next hooks.Position, err error) {
	sizes, err := f.deps.Store.ChangesAfter(ctx, b.Workspace, b.Sequence, chunkChanges)
	if err != nil {
		return nil, next, err
	}
	if len(sizes) == 0 { // the graph was restored without its journal
		return nil, hooks.Position{Sequence: b.Head}, nil
	}
	bytes := int64(0)
	for i := range sizes {
		if bytes += sizes[i].Bytes; bytes > chunkBytes && i > 0 {
			sizes = sizes[:i]
			break
		}
	}
	changes, err := f.deps.Store.Changes(ctx, b.Workspace, sizes)
	if err != nil {
		return nil, next, err
	}
	next = b.Position
	for i, record := range changes {
		c := change{
			workspace: b.Workspace, sequence: sizes[i].Sequence, record: record, subscribed: b.Types, logger: f.logger,
		}
		place, err := c.appendEvents(ctx, f.deps.Store, &events, chunkEvents, next.Events)
		if err != nil {
			return nil, next, fmt.Errorf("the events of change %d: %w", c.sequence, err)
		}
		if place >= 0 {
			next.Events = place
			return events, next, nil
		}
		next = hooks.Position{Sequence: c.sequence}
		if len(events) >= chunkEvents {
			break
		}
	}
	return events, next, nil
}
