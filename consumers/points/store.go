package points

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// stage says what of a batch is stored, so that a second try does not store it
// again. To store twice would change nothing but cost as much.
type stage struct {
	series, points, states, latest, activity, deletions bool
}

// Store makes the batch visible: series before the points that refer to them, then
// the rows, then what its deletions remove of what was there before.
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
	if err := once(&s.deletions, func() error { return db.Delete(ctx, b.deletions...) }); err != nil {
		return err
	}
	return b.buryLate(ctx)
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

// buryLate looks for tombstones that became known since the batch was prepared, and
// does their deletions if they are of sources in the batch. Another process may
// have deleted before our rows were there: that happens when we have lost a
// partition and do not know it yet.
func (b *batch) buryLate(ctx context.Context) error {
	if err := b.c.refresh(ctx); err != nil {
		return err
	}
	if b.c.graves.known() == b.graves {
		return nil
	}
	var late []clickhouse.Deletion
	for source := range b.columns.sources {
		for _, g := range b.c.graves.of(source) {
			if g.number > b.graves {
				late = append(late, g.deletion(source))
			}
		}
	}
	return b.c.deps.Points.Delete(ctx, late...)
}
