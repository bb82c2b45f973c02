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

// storedParts records which parts of a batch are stored, so that a retry does not store
// them again. Storing them twice would change nothing, but cost as much.
type storedParts struct {
	series, points, states, exemplars, latest, activity bool
}

// Store makes the batch visible: first the series, then the rows that refer to them.
// Deletions that were added since the batch was prepared are executed again.
func (b *batch) Store(ctx context.Context) error {
	db, c, s := b.c.deps.Points, b.columns, &b.stored
	if err := once(&s.series, func() error { return db.InsertSeries(ctx, c.series) }); err != nil {
		return classify(err)
	}
	var inserts errgroup.Group
	inserts.Go(func() error { return once(&s.points, func() error { return db.InsertPoints(ctx, &c.points) }) })
	inserts.Go(func() error { return once(&s.states, func() error { return db.InsertStates(ctx, &c.states) }) })
	inserts.Go(func() error { return once(&s.exemplars, func() error { return db.InsertExemplars(ctx, c.exemplars) }) })
	inserts.Go(func() error { return once(&s.latest, func() error { return db.InsertLatest(ctx, &c.latest) }) })
	inserts.Go(func() error { return once(&s.activity, func() error { return db.InsertActivity(ctx, c.activity) }) })
	if c.rollups != nil {
		b.c.rollups.store(ctx, c.rollups)
		c.rollups = nil
	}
	if err := inserts.Wait(); err != nil {
		return classify(err)
	}
	b.markSeriesStored()
	b.c.activity.add(c.activity)
	return b.repeatLateDeletions(ctx)
}

// once calls do unless *done is set, and sets it if do succeeds.
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

// classify marks errors that the data itself causes as permanent.
func classify(err error) error {
	if clickhouse.Permanent(err) {
		return consumers.Permanent(err)
	}
	return err
}

// markSeriesStored adds the series of the batch to the set of stored series.
func (b *batch) markSeriesStored() {
	ids := make([]uint64, len(b.columns.series))
	for i := range ids {
		ids[i] = b.columns.series[i].ID
	}
	b.c.storedSeries.add(ids)
}

// repeatLateDeletions reads the tombstones that were added since the batch was prepared and
// schedules their deletions again if they affect sources of the batch. Another process may
// have deleted before the rows of this batch were inserted: this happens when this process
// has lost a partition and has not noticed yet. Until then, queries hide the covered points.
func (b *batch) repeatLateDeletions(ctx context.Context) error {
	state, err := b.c.syncState(ctx, b.asOf)
	if err != nil {
		return err
	}
	sources, workspaces := b.affected(&state)
	if len(workspaces) > 0 {
		if err := b.c.deps.Registry.RepeatWorkspaceDeletions(ctx, workspaces); err != nil {
			return err
		}
	}
	if len(sources) > 0 {
		return b.c.deps.Registry.RepeatSourceDeletions(ctx, sources, b.asOf)
	}
	return nil
}

// affected returns the sources and workspaces of the batch to which a deletion applies, or
// may apply.
func (b *batch) affected(state *registry.ConsumerState) (sources []sourceID, workspaces []uuid.UUID) {
	if len(state.ChangedSources)+len(state.DeletedWorkspaces) == 0 {
		return nil, nil
	}
	changed, gone := map[sourceID]bool{}, map[uuid.UUID]bool{}
	for _, s := range state.ChangedSources {
		changed[s] = true
	}
	for _, w := range state.DeletedWorkspaces {
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
