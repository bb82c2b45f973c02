// Package deleted determines which points queries must exclude because they are deleted, but
// may still be stored.
package deleted

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// Store reads the deletions of points that are not completed yet.
type Store interface {
	UnsettledDeletions(ctx context.Context, workspace uuid.UUID) ([]registry.UnsettledDeletion, error)
}

// Exclusions returns the deleted points to exclude from series of a workspace. It must be called after
// waiting for a checkpoint, and before the points are read.
func Exclusions(
	ctx context.Context, store Store, workspace uuid.UUID, series []registry.Series,
) (timeseries.Hidden, error) {
	if len(series) == 0 {
		return nil, nil
	}
	deletions, err := store.UnsettledDeletions(ctx, workspace)
	if err != nil || len(deletions) == 0 {
		return nil, err
	}
	bySource := map[uuid.UUID][]*registry.UnsettledDeletion{}
	for i := range deletions {
		d := &deletions[i]
		bySource[d.Source] = append(bySource[d.Source], d)
	}
	hidden := timeseries.Hidden{}
	for i := range series {
		s := &series[i]
		for _, d := range bySource[s.SourceID] {
			if d.Metric == nil || *d.Metric == s.Metric {
				hidden.Add(s.ID, clickhouse.Deletion{FromUS: d.FromUS, ToUS: d.ToUS, Ceiling: d.Ceiling}, d.Executed)
			}
		}
	}
	return hidden, nil
}

// From returns the function Exclusions with a store.
func From(store Store) func(context.Context, uuid.UUID, []registry.Series) (timeseries.Hidden, error) {
	return func(ctx context.Context, workspace uuid.UUID, series []registry.Series) (timeseries.Hidden, error) {
		return Exclusions(ctx, store, workspace, series)
	}
}
