package registry

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
)

// LabelledSeries is a series of numbers, or of special values, with the names and tags from which its labels are
// derived.
type LabelledSeries struct {
	ID     uint64
	Kind   pointblock.Kind
	Metric string
	Tags   map[string]string
	Source *LabelledSource
}

// LabelledSource is the source of labelled series. Series of one source share it.
type LabelledSource struct {
	ID   uuid.UUID
	Name string
	Tags map[string]string
	// RetentionDays is the shorter retention of the source's and the workspace's; nil: unlimited.
	RetentionDays *int32
}

// LabelNarrowing restricts series in Postgres before their labels are compared. All conditions that are
// set must match.
type LabelNarrowing struct {
	Metrics      []string // any of these metrics
	MetricPrefix string   // the metric begins with it
	Values       []LabelValues
}

// LabelValues is the condition that a tag of the series, a tag of its source or, if SourceName is set, the
// name of its source is one of the values.
type LabelValues struct {
	Tag        string
	Values     []string
	SourceName bool
}

// EachLabelledSeries calls each for every series of numbers and special values of the workspace that fulfils the
// narrowing, in any order, until each returns false. It keeps only the sources in memory. The series and its tags may
// be kept after each returns.
func (db *Store) EachLabelledSeries(
	ctx context.Context, workspace uuid.UUID, narrowing *LabelNarrowing, each func(*LabelledSeries) (more bool),
) error {
	w := narrowing.where(workspace)
	rows, err := db.pool.Query(ctx, fmt.Sprintf(`
		SELECT s.id, s.kind, s.metric, s.tags, s.source_id, src.name, src.tags, LEAST(src.retention_days,
		(SELECT w.retention_days FROM workspaces w WHERE w.id = s.workspace_id))
		FROM %s WHERE %s`, seriesTables, w.Text()), postgres.WithCustomPlan(w.Args)...)
	if err != nil {
		return postgres.Classify(fmt.Errorf("selecting series by labels: %w", err))
	}
	defer rows.Close()
	var (
		id        int64
		kind      int16
		metric    string
		tags      sharedTags
		sourceID  pgtype.UUID
		name      sharedText
		own       sharedText // the JSON of the source's tags
		retention *int32
	)
	sources := map[uuid.UUID]*LabelledSource{}
	targets := []any{&id, &kind, &metric, &tags, &sourceID, &name, &own, &retention}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("reading series by labels: %w", err)
		}
		source := sources[sourceID.Bytes]
		if source == nil {
			source = &LabelledSource{ID: sourceID.Bytes, Name: string(name), RetentionDays: retention}
			if err := json.Unmarshal(own, &source.Tags); err != nil {
				return fmt.Errorf("reading the tags of a source: %w", err)
			}
			sources[sourceID.Bytes] = source
		}
		s := &LabelledSeries{ID: uint64(id), Kind: pointblock.Kind(kind), Metric: metric, Tags: tags.tags, Source: source}
		if !each(s) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return postgres.Classify(fmt.Errorf("reading series by labels: %w", err))
	}
	return nil
}

// sharedText scans text without a copy. It is valid until the next row.
type sharedText []byte

// ScanBytes implements pgtype.BytesScanner.
func (t *sharedText) ScanBytes(value []byte) error {
	*t = value
	return nil
}

func (n *LabelNarrowing) where(workspace uuid.UUID) *postgres.Where {
	w := &postgres.Where{}
	w.Add("s.workspace_id = ?", workspace)
	w.Add("src.deleted_at IS NULL")
	w.Add("s.kind <> ?", int16(pointblock.KindString))
	if n.Metrics != nil {
		w.Add("s.metric = ANY(?)", n.Metrics)
	}
	if n.MetricPrefix != "" {
		w.Add("starts_with(s.metric, ?)", n.MetricPrefix)
	}
	for _, v := range n.Values {
		condition := "(s.tags ->> ?::text = ANY(?::text[]) OR src.tags ->> ?::text = ANY(?::text[])"
		args := []any{v.Tag, v.Values, v.Tag, v.Values}
		if v.SourceName {
			condition, args = condition+" OR src.name = ANY(?::text[])", append(args, v.Values)
		}
		w.Add(condition+")", args...)
	}
	return w
}

// NumberMetrics returns the metrics of the workspace's series of numbers and special values, in any order, up to a
// limit.
// It reads one series of each metric.
func (db *Store) NumberMetrics(ctx context.Context, workspace uuid.UUID, limit int) ([]string, error) {
	rows, err := db.pool.Query(ctx, `
		WITH RECURSIVE named (metric) AS (
			(SELECT s.metric FROM series s WHERE s.workspace_id = $1 ORDER BY s.metric LIMIT 1)
			UNION ALL
			SELECT (SELECT s.metric FROM series s WHERE s.workspace_id = $1 AND s.metric > named.metric
				ORDER BY s.metric LIMIT 1)
			FROM named WHERE named.metric IS NOT NULL)
		SELECT n.metric FROM named n WHERE n.metric IS NOT NULL AND EXISTS (
			SELECT FROM series s JOIN sources src ON src.workspace_id = s.workspace_id AND src.id = s.source_id
			WHERE s.workspace_id = $1 AND s.metric = n.metric AND s.kind <> $2 AND src.deleted_at IS NULL)
		LIMIT $3`, workspace, int16(pointblock.KindString), limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing metrics: %w", err))
	}
	metrics, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return metrics, postgres.Classify(err)
}

// DescribedMetrics returns the sources of the workspace that describe metrics, up to a limit.
func (db *Store) DescribedMetrics(ctx context.Context, workspace uuid.UUID, limit int) ([]SourceLabel, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT s.id, s.name, s.unit, s.metrics FROM sources s
		WHERE s.workspace_id = $1 AND s.deleted_at IS NULL AND s.metrics <> '[]' ORDER BY s.id LIMIT $2`, workspace, limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading descriptions of metrics: %w", err))
	}
	defer rows.Close()
	var list []SourceLabel
	for rows.Next() {
		var s SourceLabel
		if err := rows.Scan(&s.ID, &s.Name, &s.Unit, &s.Metrics); err != nil {
			return nil, fmt.Errorf("reading descriptions of metrics: %w", err)
		}
		list = append(list, s)
	}
	return list, postgres.Classify(rows.Err())
}
