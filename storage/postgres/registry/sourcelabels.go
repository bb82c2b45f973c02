package registry

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// SourceLabel has the fields of a source that readers of points get.
type SourceLabel struct {
	ID      uuid.UUID
	Name    string
	NodeID  *uuid.UUID
	Unit    *string
	Metrics []SourceMetric
	Version int64
	Deleted bool
}

// MetricUnit returns the unit of one of the source's metrics: its own if it has one, else the source's.
func (s *SourceLabel) MetricUnit(metric string) *string {
	for i := range s.Metrics {
		if s.Metrics[i].Name == metric && s.Metrics[i].Unit != nil {
			return s.Metrics[i].Unit
		}
	}
	return s.Unit
}

// SourceLabels returns the labels of those known sources whose version differs from the
// given one, including deleted sources. For version 0 it returns every source that exists
// or existed.
func (db *Store) SourceLabels(
	ctx context.Context, workspace uuid.UUID, known map[uuid.UUID]int64,
) ([]SourceLabel, error) {
	ids, versions := make([]uuid.UUID, 0, len(known)), make([]int64, 0, len(known))
	for id, version := range known {
		ids, versions = append(ids, id), append(versions, version)
	}
	rows, err := db.pool.Query(ctx, `
		SELECT s.id, s.name, s.node_id, s.unit, s.metrics, s.version, s.deleted_at IS NOT NULL
		FROM unnest($2::uuid[], $3::bigint[]) AS known (id, version)
		CROSS JOIN LATERAL (SELECT * FROM sources x WHERE x.workspace_id = $1 AND x.id = known.id OFFSET 0) s
		WHERE s.version <> known.version`, postgres.WithCustomPlan([]any{workspace, ids, versions})...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading source labels: %w", err))
	}
	labels, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s SourceLabel, err error) {
		err = row.Scan(&s.ID, &s.Name, &s.NodeID, &s.Unit, &s.Metrics, &s.Version, &s.Deleted)
		return s, err
	})
	return labels, postgres.Classify(err)
}
