package points

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// stage says what of a batch is stored, so that a second try does not store it
// again. To store twice would change nothing but cost as much.
type stage struct {
	series, points, states, latest, activity bool
}

// Store makes the batch visible: series before the points that refer to them, then
// the rows. What was deleted since it was prepared is deleted once more.
func (b *batch) Store(ctx context.Context) error {
	db, c, s := b.c.deps.Points, b.columns, &b.stored
	if err := once(&s.series, func() error { return db.InsertSeries(ctx, c.series) }); err != nil {
		return classify(err)
	}
	var inserts errgroup.Group
	inserts.Go(func() error { return once(&s.points, func() error { return db.InsertPoints(ctx, &c.points) }) })
	inserts.Go(func() error { return once(&s.states, func() error { return db.InsertStates(ctx, &c.states) }) })
	inserts.Go(func() error { return once(&s.latest, func() error { return db.InsertLatest(ctx, c.latest) }) })
	inserts.Go(func() error { return once(&s.activity, func() error { return db.InsertActivity(ctx, c.activity) }) })
	if err := inserts.Wait(); err != nil {
		return classify(err)
	}
	b.remember()
	return b.repeatLate(ctx)
}

// once does a part unless it is done.
func once(done *bool, do func() error) error {
	if *done {
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	*done = true
	return nil
}

// classify marks errors that are the data's own fault.
func classify(err error) error {
	if clickhouse.Permanent(err) {
		return consumers.Permanent(err)
	}
	return err
}

// remember notes which series are copied.
func (b *batch) remember() {
	ids := make([]uint64, len(b.columns.series))
	for i := range ids {
		ids[i] = b.columns.series[i].ID
	}
	b.c.copied.add(ids)
}

// repeatLate looks for tombstones that became known since the batch was prepared, and
// has their deletions done again if they are of sources in the batch. Another process
// may have deleted before our rows were there: that happens when we have lost a
// partition and do not know it yet. No query shows what they cover meanwhile.
func (b *batch) repeatLate(ctx context.Context) error {
	state, err := b.c.follow(ctx, b.asOf)
	if err != nil {
		return err
	}
	late, gone := b.concerned(&state)
	if len(gone) > 0 {
		if err := b.c.deps.Registry.RepeatWorkspaceDeletions(ctx, gone); err != nil {
			return err
		}
	}
	if len(late) > 0 {
		return b.c.deps.Registry.RepeatDeletionsOf(ctx, late, b.asOf)
	}
	return nil
}

// concerned returns the sources and workspaces of the batch of which something was deleted,
// or may have been.
func (b *batch) concerned(state *registry.ConsumerState) (sources []owner, workspaces []uuid.UUID) {
	if len(state.Changed)+len(state.Gone) == 0 {
		return nil, nil
	}
	changed, gone := map[owner]bool{}, map[uuid.UUID]bool{}
	for _, s := range state.Changed {
		changed[s] = true
	}
	for _, w := range state.Gone {
		gone[w] = true
	}
	for source := range b.columns.sources {
		if state.More || changed[source] {
			sources = append(sources, source)
		}
		if (state.More || gone[source.Workspace]) && !slices.Contains(workspaces, source.Workspace) {
			workspaces = append(workspaces, source.Workspace)
		}
	}
	return sources, workspaces
}
