package query

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/deleted"
	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// maxGroupedSeries is how many series one grouped query reads.
const maxGroupedSeries = 100_000

// SeriesStore is the registry of series.
type SeriesStore interface {
	deleted.Store
	Series(
		ctx context.Context, workspace uuid.UUID, filter registry.SeriesFilter, page registry.SeriesPage,
	) (list []registry.Series, total int64, more bool, err error)
	AllSeries(ctx context.Context, workspace uuid.UUID, filter registry.SeriesFilter, most int) ([]registry.Series, error)
}

// PointStore answers queries.
type PointStore interface {
	RawPoints(ctx context.Context, q timeseries.RawQuery) (found map[uint64]*timeseries.Points, more bool, err error)
	Downsample(ctx context.Context, q timeseries.DownsampleQuery) (
		found map[uint64]*timeseries.Points, more bool, err error,
	)
	LatestPoints(ctx context.Context, q timeseries.LatestQuery) ([]*timeseries.Points, error)
	Aggregate(ctx context.Context, q timeseries.AggregateQuery) (found map[int]*timeseries.Points, more bool, err error)
	SeriesStats(
		ctx context.Context, numbers, texts []uint64, kept timeseries.KeptFrom, hidden timeseries.Hidden,
	) (map[uint64]timeseries.SeriesStats, error)
}

// query responds with points: raw, latest or aggregated.
func (a *api) query(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	q, err := readQuery(request.Query(r), r.Header, now)
	if err != nil {
		return err
	}
	q.format.Vary(w.Header())
	workspace := request.PrincipalOf(r.Context()).Workspace
	dead, err := a.awaitCheckpoint(r.Context(), workspace, q.checkpoint)
	if err != nil {
		return err
	}
	run := &run{api: a, q: q, workspace: workspace, receivedAt: now}
	values, err := a.reserve(int64(q.rows())*int64(max(len(q.functions), 1)) + int64(q.limit)*valuesPerSeries)
	if err != nil {
		return err
	}
	defer values.Release()
	if err := run.read(r.Context()); err != nil {
		return err
	}
	if dead > 0 {
		w.Header().Set(deadLetteredHeader, strconv.FormatInt(dead, 10))
		run.meta.DeadLettered = &dead
	}
	if q.interval != 0 {
		run.meta.Interval = value.FormatDuration(q.interval)
	}
	switch {
	case q.format.IsColumns():
		return run.writeColumns(w, r)
	case q.format.Name != columns.JSON:
		return run.writeRows(w, r)
	}
	return run.writeAnswer(w, r)
}

// read reads the groups and their points from the stores.
func (r *run) read(ctx context.Context) error {
	if err := r.admission.enter(time.Now()); err != nil {
		return err
	}
	defer func() { r.admission.leave(time.Now()) }()
	ctx, cancel := context.WithTimeout(ctx, r.QueryTimeout)
	defer cancel()
	if err := r.selectGroups(ctx); err != nil {
		return explainTimeout(err, r.QueryTimeout)
	}
	if r.q.format.Name != columns.JSON && !r.q.format.IsColumns() {
		format, err := r.newRowFormat()
		if err != nil {
			return err
		}
		r.format = format
		wait := startConcurrently(1, func(int) { r.identities = newIdentities(format, r.groups) })
		defer wait()
	}
	return r.readPoints(ctx)
}

// run is one query being answered.
type run struct {
	*api
	q          *queryParams
	workspace  uuid.UUID
	receivedAt time.Time            // points past their retention at this time are excluded
	groups     []*group             // of the page
	points     []*timeseries.Points // index for index; nil: the group has none
	meta       reply.Meta
	// For CSV and NDJSON: how rows are written, and the columns that identify their groups.
	format     rowFormat
	identities *identities
}

// selectGroups reads the groups of the page.
func (r *run) selectGroups(ctx context.Context) error {
	q := r.q
	if q.grouping == nil {
		list, total, _, err := r.Series.Series(ctx, r.workspace, q.filter, registry.SeriesPage{
			Limit: q.limit, Offset: q.offset,
		})
		if err != nil {
			return err
		}
		r.groups = groupEach(list)
		r.meta = reply.PageMeta(total, q.limit, q.offset, len(list))
		return r.readExclusions(ctx, list)
	}
	list, err := r.Series.AllSeries(ctx, r.workspace, q.filter, maxGroupedSeries)
	if err != nil {
		return err
	}
	if len(list) > maxGroupedSeries {
		return tooManySeries()
	}
	all := q.grouping.groups(list)
	r.groups = reply.PageOf(all, q.limit, q.offset)
	r.meta = reply.PageMeta(int64(len(all)), q.limit, q.offset, len(r.groups))
	return r.readExclusions(ctx, list)
}

// readExclusions determines which points of the series are excluded: those past their
// retention, and those deleted.
func (r *run) readExclusions(ctx context.Context, list []registry.Series) (err error) {
	r.q.span.KeptFrom = registry.KeptFromEach(list, r.receivedAt)
	r.q.span.Hidden, err = deleted.Exclusions(ctx, r.Series, r.workspace, list)
	return err
}

func (r *run) readPoints(ctx context.Context) error {
	r.points = make([]*timeseries.Points, len(r.groups))
	switch {
	case r.q.latest:
		return r.readLatest(ctx)
	case len(r.q.functions) > 0:
		return r.readAggregates(ctx)
	case r.q.resolution.downsample:
		return r.readDownsampled(ctx)
	}
	return r.readRaw(ctx)
}

func (r *run) readLatest(ctx context.Context) error {
	latestQuery := timeseries.LatestQuery{
		Workspace: r.workspace, Series: make([]timeseries.LatestSeries, len(r.groups)), CompleteSources: r.completeSources(),
		KeptFrom: r.q.span.KeptFrom, Hidden: r.q.span.Hidden,
	}
	for i, g := range r.groups {
		latestQuery.Series[i] = timeseries.LatestSeries{
			ID: g.series[0], Source: *g.source, IsString: g.kind == pointblock.KindString,
		}
	}
	if r.q.hasFrom {
		latestQuery.FromUS = r.q.span.FromUS
	}
	points, err := r.Points.LatestPoints(ctx, latestQuery)
	if err != nil {
		return explainLimits(err, r.QueryTimeout)
	}
	r.points = points
	return nil
}

// completeSources returns the sources of which the page contains all series. Pages are sorted
// by source, so only the first and the last source can have series on other pages.
func (r *run) completeSources() (complete []uuid.UUID) {
	if r.q.filter.Metrics != nil || len(r.q.filter.Tags) > 0 || len(r.groups) == 0 {
		return nil
	}
	first, last := *r.groups[0].source, *r.groups[len(r.groups)-1].source
	for _, g := range r.groups {
		source := *g.source
		switch {
		case len(complete) > 0 && complete[len(complete)-1] == source:
		case source == first && r.q.offset > 0:
		case source == last && r.meta.HasMore:
		default:
			complete = append(complete, source)
		}
	}
	return complete
}

// assignSeries assigns the points of series to their groups.
func (r *run) assignSeries(found map[uint64]*timeseries.Points) {
	for i, g := range r.groups {
		if points := found[g.series[0]]; points != nil {
			r.points[i] = points
		}
	}
}

// readRaw reads raw points. One series is paged by cursor; the points of several must fit into
// one answer.
func (r *run) readRaw(ctx context.Context) error {
	q, span := r.q, r.q.span
	scope := token.ScopeOf("points", r.workspace, q.cursorScope)
	if q.cursor != "" {
		if len(r.groups) != 1 {
			return fault.Field(
				fault.Malformed, "cursor", "continues the points of one series; the query selects another number of them",
			)
		}
		var position pointPosition
		if err := r.sealer.ReadCursor(q.cursor, scope, &position); err != nil {
			return err
		}
		if position.Series != r.groups[0].series[0] {
			return fault.Field(fault.Malformed, "cursor", "was made for another series")
		}
		span.FromUS, span.ToUS = position.FromUS, position.ToUS
	}
	numbers, _ := byKind(r.groups, pointblock.KindNumber)
	texts, _ := byKind(r.groups, pointblock.KindString)
	found, more, err := r.Points.RawPoints(ctx, timeseries.RawQuery{
		Numbers: numbers, Strings: texts, Range: span, Descending: q.descending, Limit: q.rows()})
	if err != nil {
		return explainLimits(err, r.QueryTimeout)
	}
	r.assignSeries(found)
	if !more {
		return nil
	}
	if len(r.groups) != 1 {
		return q.tooManyPoints()
	}
	return r.continueFrom(scope, span)
}

// pointPosition is the position of a cursor in the points of a raw series. It contains the
// remaining range, so that a relative range does not move between pages.
type pointPosition struct {
	Series uint64 `json:"s,string"`
	FromUS int64  `json:"f"`
	ToUS   int64  `json:"t"`
}

func (r *run) continueFrom(scope token.Scope, span timeseries.Range) error {
	ts := r.points[0].TS
	position := pointPosition{Series: r.groups[0].series[0], FromUS: span.FromUS, ToUS: span.ToUS}
	if last := ts[len(ts)-1]; r.q.descending {
		position.ToUS = last
	} else {
		position.FromUS = last + 1
	}
	cursor, err := r.sealer.Cursor(scope, position)
	r.meta.NextCursor = &cursor
	return err
}

// readDownsampled reads the points that preserve the shape of each series. Strings have no
// shape: their points are read raw.
func (r *run) readDownsampled(ctx context.Context) error {
	q := r.q
	numbers, _ := byKind(r.groups, pointblock.KindNumber)
	found, more, err := r.Points.Downsample(ctx, timeseries.DownsampleQuery{
		Series: numbers, Range: q.span, MaxPoints: q.perSeries(), Limit: q.rows(),
	})
	if err != nil {
		return explainLimits(err, r.QueryTimeout)
	}
	r.assignSeries(found)
	remaining := q.rows()
	for _, points := range found {
		remaining -= len(points.TS)
	}
	if texts, _ := byKind(r.groups, pointblock.KindString); len(texts) > 0 && !more {
		found, more, err = r.Points.RawPoints(ctx, timeseries.RawQuery{Strings: texts, Range: q.span, Limit: remaining})
		if err != nil {
			return explainLimits(err, r.QueryTimeout)
		}
		r.assignSeries(found)
	}
	if more {
		return q.tooManyPoints()
	}
	for _, points := range r.points {
		if q.descending && points != nil {
			reverse(points)
		}
	}
	return nil
}

// readAggregates reads one row for each group and bucket, and fills buckets without points.
func (r *run) readAggregates(ctx context.Context) error {
	q := r.q
	var starts []int64
	aggregateQuery := timeseries.AggregateQuery{Range: q.span, Functions: q.functions, Limit: q.rows()}
	if q.interval != 0 {
		aggregateQuery.Grid = timeseries.NewGrid(q.interval, q.zone, q.span.FromUS, q.span.ToUS)
		if q.fill.mode != fillNone {
			maxBuckets := q.rows() / max(len(r.groups), 1)
			if aggregateQuery.Grid.Count(q.span.FromUS, q.span.ToUS, maxBuckets) > maxBuckets {
				return q.tooManyPoints()
			}
			starts = bucketStarts(aggregateQuery.Grid, q.span)
		}
	}
	for _, kind := range []pointblock.Kind{pointblock.KindNumber, pointblock.KindString} {
		aggregateQuery.IsString = kind == pointblock.KindString
		aggregateQuery.Series, aggregateQuery.Groups = byKind(r.groups, kind)
		found, more, err := r.Points.Aggregate(ctx, aggregateQuery)
		if err != nil {
			return explainLimits(err, r.QueryTimeout)
		}
		if more {
			return q.tooManyPoints()
		}
		for i, rows := range found {
			r.points[i] = rows
			aggregateQuery.Limit -= len(rows.TS)
		}
	}
	for i, g := range r.groups {
		r.points[i] = q.fill.apply(r.points[i], starts, q.textual(g.kind))
		if q.descending {
			reverse(r.points[i])
		}
	}
	return nil
}

func bucketStarts(grid *timeseries.Grid, span timeseries.Range) []int64 {
	var starts []int64
	if span.FromUS >= span.ToUS {
		return starts
	}
	for at := grid.Start(span.FromUS); at < span.ToUS; at = grid.Next(at) {
		starts = append(starts, at)
	}
	return starts
}

// textual reports which columns of a group of the kind contain strings.
func (q *queryParams) textual(kind pointblock.Kind) []bool {
	textual := make([]bool, len(q.functions))
	for i, f := range q.functions {
		textual[i] = kind == pointblock.KindString && f.ReturnsStrings()
	}
	return textual
}

func reverse(p *timeseries.Points) {
	p.TS = slices.Clone(p.TS) // groups share the starts of filled buckets
	slices.Reverse(p.TS)
	for _, c := range p.Columns {
		slices.Reverse(c.Numbers)
		slices.Reverse(c.Strings)
	}
}
