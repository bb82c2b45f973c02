package registry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/storage/postgres"
)

// MaxMetricMetadata is the number of metrics of a workspace at which no metadata of others is added.
const MaxMetricMetadata = 20_000

// PutMetricMetadata adds or replaces the metadata of metrics, of which none is given twice. It ignores
// metadata of workspaces that are deleted, and of new metrics of a workspace that has MaxMetricMetadata.
func (db *Store) PutMetricMetadata(ctx context.Context, list []metricmetadata.OfWorkspace) error {
	// Every process locks the rows in the same order.
	list = slices.SortedFunc(slices.Values(list), func(a, b metricmetadata.OfWorkspace) int {
		return cmp.Or(bytes.Compare(a.Workspace[:], b.Workspace[:]), cmp.Compare(a.Metric, b.Metric))
	})
	n := len(list)
	workspaces := make([]uuid.UUID, n)
	metrics, types, helps, units := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, m := range list {
		workspaces[i], metrics[i], types[i], helps[i], units[i] = m.Workspace, m.Metric, m.Type, m.Help, m.Unit
	}
	_, err := db.pool.Exec(ctx, `
		WITH given AS (SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
				WITH ORDINALITY AS g (workspace_id, metric, kind, help, unit, position)),
			open AS MATERIALIZED (SELECT w.id, (SELECT count(*) FROM metric_metadata m WHERE m.workspace_id = w.id) < $6 AS room
				FROM workspaces w WHERE w.id IN (SELECT workspace_id FROM given) AND w.deleted_at IS NULL)
		INSERT INTO metric_metadata AS known (workspace_id, metric, kind, help, unit)
		SELECT g.workspace_id, g.metric, g.kind, g.help, g.unit FROM given g JOIN open o ON o.id = g.workspace_id
		WHERE o.room OR EXISTS (SELECT FROM metric_metadata m WHERE m.workspace_id = g.workspace_id AND m.metric = g.metric)
		ORDER BY g.position
		ON CONFLICT (workspace_id, metric) DO UPDATE
		SET kind = excluded.kind, help = excluded.help, unit = excluded.unit, updated_at = now()
		WHERE (known.kind, known.help, known.unit) IS DISTINCT FROM (excluded.kind, excluded.help, excluded.unit)`,
		workspaces, metrics, types, helps, units, MaxMetricMetadata)
	if err != nil {
		return postgres.Classify(fmt.Errorf("writing the metadata of metrics: %w", err))
	}
	return nil
}

// MetricMetadata returns the metadata of a workspace's metrics in the order of their names, at most limit, or
// only that of one metric if its name is given.
func (db *Store) MetricMetadata(
	ctx context.Context, workspace uuid.UUID, metric string, limit int,
) ([]metricmetadata.Metadata, error) {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", workspace)
	if metric != "" {
		w.Add("metric = ?", metric)
	}
	rows, err := db.pool.Query(ctx, fmt.Sprintf(
		`SELECT metric, kind, help, unit FROM metric_metadata WHERE %s ORDER BY metric LIMIT %s`, w.Text(), w.Arg(limit),
	), w.Args...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the metadata of metrics: %w", err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[metricmetadata.Metadata])
	return list, postgres.Classify(err)
}
