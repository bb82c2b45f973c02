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

// seriesRow is where the rows of seriesColumns are scanned into, one after the other.
type seriesRow struct {
	id        int64
	source    pgtype.UUID // which pgx scans as it comes, and uuid.UUID by way of a text
	metric    string
	tags      sharedTags
	kind      int16
	createdAt time.Time
	targets   []any
}

// newSeriesRow creates a row whose columns come after others, which are scanned on the way.
func newSeriesRow(before ...any) *seriesRow {
	r := &seriesRow{}
	r.targets = slices.Concat(before, []any{&r.id, &r.source, &r.metric, &r.tags, &r.kind, &r.createdAt})
	return r
}

// scan reads the row that the rows are at.
func (r *seriesRow) scan(rows pgx.Rows) (Series, error) {
	if err := rows.Scan(r.targets...); err != nil {
		return Series{}, err
	}
	return Series{
		ID: uint64(r.id), SourceID: r.source.Bytes, Metric: r.metric, Tags: r.tags.tags,
		Kind: pointblock.Kind(r.kind), CreatedAt: r.createdAt.UTC(),
	}, nil
}

// collectSeries reads all rows, about so many at most, and closes them.
func collectSeries(rows pgx.Rows, most int) ([]Series, error) {
	defer rows.Close()
	list := make([]Series, 0, min(most, mostRoomAtOnce))
	for row := newSeriesRow(); rows.Next(); {
		s, err := row.scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// mostRoomAtOnce is for how many series room is made before there is one.
const mostRoomAtOnce = 16 << 10

// sharedTags are tags that are parsed only where they differ from those of the row before.
type sharedTags struct {
	json string
	tags map[string]string
}

// ScanBytes takes tags as the JSON that the column holds, which is never null.
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

// seriesSources is what series have of their sources, by the source.
type seriesSources map[uuid.UUID]*seriesSource

type seriesSource struct {
	SourceLabel
	retentionDays *int32 // the shorter of the source's and the workspace's
}

// describe puts to series what is of their sources, and leaves out series whose source is gone
// since they were listed.
func describe(ctx context.Context, q postgres.Querier, workspace uuid.UUID, list []Series) ([]Series, error) {
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
	described, of := list[:0], &seriesSource{}
	for i := range list {
		s := &list[i]
		if s.SourceID != of.ID {
			of = sources[s.SourceID]
		}
		if of.ID != uuid.Nil {
			s.SourceName, s.Unit, s.RetentionDays = of.Name, of.MetricUnit(s.Metric), of.retentionDays
			described = append(described, *s)
		}
	}
	return described, nil
}

func (sources seriesSources) read(ctx context.Context, q postgres.Querier, workspace uuid.UUID, ids []uuid.UUID) error {
	rows, err := q.Query(ctx, `
		SELECT s.id, s.name, s.unit, s.metrics, LEAST(s.retention_days,
		(SELECT w.retention_days FROM workspaces w WHERE w.id = $1))
		FROM unnest($2::uuid[]) AS t (id)
		CROSS JOIN LATERAL (SELECT * FROM sources x WHERE x.workspace_id = $1 AND x.id = t.id OFFSET 0) s`,
		postgres.Planned([]any{workspace, ids})...)
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
