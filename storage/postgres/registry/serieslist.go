package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Series is a registered series of a source that is not deleted.
type Series struct {
	ID         uint64
	SourceID   uuid.UUID
	SourceName string
	Metric     string
	Tags       map[string]string
	Kind       pointblock.Kind
	Unit       *string // of the source's metric, else of the source
	CreatedAt  time.Time
	// RetentionDays is the retention of its points: the shorter one of the source's and
	// the workspace's; nil: unlimited.
	RetentionDays *int32
}

// SeriesFilter selects series. All conditions that are set must match.
type SeriesFilter struct {
	Sources    []uuid.UUID // any of these sources; unknown ones match nothing
	SourceName *string     // exact name of the source
	NodeID     *uuid.UUID  // the source is linked to this node
	Metrics    []string    // any of these metrics
	Tags       map[string][]string
}

// SeriesPage selects a page of the series, which are sorted by source, metric and id: up
// to Limit series from Offset, or after the position After.
type SeriesPage struct {
	Limit  int
	Offset int
	After  *SeriesPosition // instead of Offset
}

// SeriesPosition is the position of a series in the sorted list.
type SeriesPosition struct {
	Source uuid.UUID `json:"s"`
	Metric string    `json:"m"`
	ID     int64     `json:"i"`
}

// Position returns the position of the series in the sorted list.
func (s *Series) Position() SeriesPosition {
	return SeriesPosition{Source: s.SourceID, Metric: s.Metric, ID: int64(s.ID)}
}

const (
	// seriesColumns are the columns that seriesRow scans. addSourceFields reads the fields
	// of the source, once for each source.
	seriesColumns = `s.id, s.source_id, s.metric, s.tags, s.kind, s.created_at`
	// notSpecial excludes series of pointblock.KindSpecial, which only PromQL reads.
	notSpecial   = `s.kind <> 3`
	seriesTables = `series s JOIN sources src ON src.workspace_id = s.workspace_id AND src.id = s.source_id`
)

// Series returns a page of the workspace's series that match the filter, the total number
// of matches, and whether there are more after the page.
func (db *Store) Series(
	ctx context.Context, workspace uuid.UUID, filter SeriesFilter, page SeriesPage,
) (list []Series, total int64, more bool, err error) {
	err = db.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		listing, err := db.seriesListing(ctx, conn, workspace, &filter, page)
		if err != nil {
			return err
		}
		total, more = listing.total, listing.more
		list, err = addSourceFields(ctx, conn, workspace, slices.Clone(listing.list))
		return err
	})
	if err != nil {
		return nil, 0, false, postgres.Classify(fmt.Errorf("listing series: %w", err))
	}
	return list, total, more && len(list) > 0, nil
}

// seriesListing returns a page from the cache if it is still valid, and reads it otherwise.
func (db *Store) seriesListing(
	ctx context.Context, conn *pgxpool.Conn, workspace uuid.UUID, filter *SeriesFilter, page SeriesPage,
) (*seriesListing, error) {
	key, state := filter.cacheKey(workspace, page), ""
	if key != "" {
		var err error
		if state, err = seriesState(ctx, conn, workspace); err != nil {
			return nil, err
		}
		if cached, ok := db.series.GetIfPresent(key); ok && cached.state == state {
			return cached, nil
		}
	}
	listing, err := listSeries(ctx, conn, workspace, filter, page)
	if err == nil && state != "" {
		listing.state = state
		db.series.Set(key, listing)
	}
	return listing, err
}

func listSeries(
	ctx context.Context, conn *pgxpool.Conn, workspace uuid.UUID, filter *SeriesFilter, page SeriesPage,
) (*seriesListing, error) {
	w := filter.where(workspace)
	if page.After != nil {
		w.Add(
			"(s.source_id, s.metric, s.id) > (?::uuid, ?::text, ?::bigint)", page.After.Source, page.After.Metric, page.After.ID,
		)
	}
	rows, err := conn.Query(
		ctx, fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY s.source_id, s.metric, s.id LIMIT %s OFFSET %s`,
			seriesColumns, seriesTables, w.Text(), w.Arg(page.Limit+1), w.Arg(page.Offset)), postgres.WithCustomPlan(w.Args)...,
	)
	if err != nil {
		return nil, err
	}
	list, err := collectSeries(rows, page.Limit+1)
	if err != nil {
		return nil, err
	}
	listing := &seriesListing{
		more: len(list) > page.Limit, list: list[:min(len(list), page.Limit)], total: int64(len(list)),
	}
	if page.Offset == 0 && page.After == nil && !listing.more { // the page has all matches
		return listing, nil
	}
	query, args := filter.countQuery(workspace)
	return listing, conn.QueryRow(ctx, query, postgres.WithCustomPlan(args)...).Scan(&listing.total)
}

// countQuery returns the statement that counts the matches. Without conditions it uses the
// workspace's counter of series, which includes special ones and those of sources that are being deleted.
func (f *SeriesFilter) countQuery(workspace uuid.UUID) (statement string, args []any) {
	if f.Sources == nil && f.SourceName == nil && f.NodeID == nil && f.Metrics == nil && len(f.Tags) == 0 {
		return `SELECT COALESCE((SELECT w.series - (SELECT count(*) FROM sources src JOIN series s
			ON s.workspace_id = src.workspace_id AND s.source_id = src.id
			WHERE src.workspace_id = w.id AND src.deleted_at IS NOT NULL)
			- (SELECT count(*) FROM series s JOIN sources src ON src.workspace_id = s.workspace_id AND src.id = s.source_id
			WHERE s.workspace_id = w.id AND s.kind = 3 AND src.deleted_at IS NULL)
			FROM workspaces w WHERE w.id = $1), 0)`, []any{workspace}
	}
	w := f.where(workspace)
	return "SELECT count(*) FROM " + seriesTables + " WHERE " + w.Text(), w.Args
}

// AllSeries returns all series that match the filter, sorted as in a page. If there are
// more than limit it returns limit+1 of them.
func (db *Store) AllSeries(ctx context.Context, workspace uuid.UUID, filter SeriesFilter, limit int) ([]Series, error) {
	w := filter.where(workspace)
	rows, err := db.pool.Query(ctx, fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY s.source_id, s.metric, s.id LIMIT %s`,
		seriesColumns, seriesTables, w.Text(), w.Arg(limit+1)), postgres.WithCustomPlan(w.Args)...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("selecting series: %w", err))
	}
	list, err := collectSeries(rows, limit+1)
	if err == nil {
		list, err = addSourceFields(ctx, db.pool, workspace, list)
	}
	return list, postgres.Classify(err)
}

func (f *SeriesFilter) where(workspace uuid.UUID) *postgres.Where {
	w := &postgres.Where{}
	w.Add("s.workspace_id = ?", workspace)
	w.Add("src.deleted_at IS NULL")
	w.Add(notSpecial)
	if f.Sources != nil {
		w.Add("s.source_id = ANY(?)", f.Sources)
	}
	if f.SourceName != nil {
		w.Add("src.name = ?", *f.SourceName)
	}
	if f.NodeID != nil {
		w.Add("src.node_id = ?", *f.NodeID)
	}
	if f.Metrics != nil {
		w.Add("s.metric = ANY(?)", f.Metrics)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Tags)) {
		w.Add("s.tags ->> ?::text = ANY(?::text[])", key, f.Tags[key])
	}
	return w
}
