package registry

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
)

// seriesRow is the scan target for rows of seriesColumns. It is reused for all rows.
type seriesRow struct {
	id        int64
	source    pgtype.UUID // pgx scans it directly, but a uuid.UUID by way of a string
	metric    string
	tags      sharedTags
	kind      int16
	createdAt time.Time
	targets   []any
}

// newSeriesRow creates a row. Each scan first scans the columns that precede those of the
// series into the targets in before.
func newSeriesRow(before ...any) *seriesRow {
	r := &seriesRow{}
	r.targets = slices.Concat(before, []any{&r.id, &r.source, &r.metric, &r.tags, &r.kind, &r.createdAt})
	return r
}

// scan returns the series of the current row.
func (r *seriesRow) scan(rows pgx.Rows) (Series, error) {
	if err := rows.Scan(r.targets...); err != nil {
		return Series{}, err
	}
	return Series{
		ID: uint64(r.id), SourceID: r.source.Bytes, Metric: r.metric, Tags: r.tags.tags,
		Kind: pointblock.Kind(r.kind), CreatedAt: r.createdAt.UTC(),
	}, nil
}

// collectSeries reads all rows and closes them. limit is the maximum number of rows, used
// for preallocation.
func collectSeries(rows pgx.Rows, limit int) ([]Series, error) {
	defer rows.Close()
	list := make([]Series, 0, min(limit, maxPrealloc))
	for row := newSeriesRow(); rows.Next(); {
		s, err := row.scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// maxPrealloc is the maximum number of series for which collectSeries preallocates memory.
const maxPrealloc = 16 << 10

// sharedTags scans tags and parses them only if they differ from those of the previous row.
type sharedTags struct {
	json string
	tags map[string]string
}

// ScanBytes implements pgtype.BytesScanner. value is the JSON of the column, which is never null.
func (t *sharedTags) ScanBytes(value []byte) error {
	if t.tags != nil && t.json == string(value) {
		return nil
	}
	var tags map[string]string
	if err := json.Unmarshal(value, &tags); err != nil {
		return err
	}
	t.json, t.tags = string(value), tags
	return nil
}

// seriesSources has the fields of sources that are copied to their series, by source id.
type seriesSources map[uuid.UUID]*seriesSource

type seriesSource struct {
	SourceLabel
	retentionDays *int32 // the shorter of the source's and the workspace's
}

// addSourceFields sets the fields of series that come from their sources. It drops series
// whose source no longer exists.
func addSourceFields(ctx context.Context, q postgres.Querier, workspace uuid.UUID, list []Series) ([]Series, error) {
	sources := seriesSources{}
	var ids []uuid.UUID
	for i := range list {
		if id := list[i].SourceID; sources[id] == nil {
			ids, sources[id] = append(ids, id), &seriesSource{}
		}
	}
	if len(ids) == 0 {
		return list, nil
	}
	if err := sources.read(ctx, q, workspace, ids); err != nil {
		return nil, err
	}
	found, source := list[:0], &seriesSource{}
	for i := range list {
		s := &list[i]
		if s.SourceID != source.ID {
			source = sources[s.SourceID]
		}
		if source.ID != uuid.Nil {
			s.SourceName, s.Unit, s.RetentionDays = source.Name, source.MetricUnit(s.Metric), source.retentionDays
			found = append(found, *s)
		}
	}
	return found, nil
}

func (sources seriesSources) read(ctx context.Context, q postgres.Querier, workspace uuid.UUID, ids []uuid.UUID) error {
	rows, err := q.Query(ctx, `
		SELECT s.id, s.name, s.unit, s.metrics, LEAST(s.retention_days,
		(SELECT w.retention_days FROM workspaces w WHERE w.id = $1))
		FROM unnest($2::uuid[]) AS t (id)
		CROSS JOIN LATERAL (SELECT * FROM sources x WHERE x.workspace_id = $1 AND x.id = t.id OFFSET 0) s`,
		postgres.WithCustomPlan([]any{workspace, ids})...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var s seriesSource
		if err := rows.Scan(&s.ID, &s.Name, &s.Unit, &s.Metrics, &s.retentionDays); err != nil {
			return err
		}
		sources[s.ID] = &s
	}
	return rows.Err()
}
