package query

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

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
		ctx context.Context, numbers, texts []uint64, kept timeseries.Kept, hidden timeseries.Hidden,
	) (map[uint64]timeseries.SeriesStats, error)
}

// query answers with points: raw, latest or aggregated.
func (a *api) query(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	q, err := readQuery(request.Query(r), reply.Negotiate(r.Header, formatJSON, contentTypes), now)
	if err != nil {
		return err
	}
	if q.negotiated {
		w.Header().Add("Vary", "Accept")
	}
	workspace := request.PrincipalOf(r.Context()).Workspace
	dead, err := a.awaitCheckpoint(r.Context(), workspace, q.checkpoint)
	if err != nil {
		return err
	}
	run := &run{api: a, q: q, workspace: workspace, asked: now}
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
	if q.format != formatJSON {
		return run.writeRows(w, r)
	}
	return run.writeAnswer(w, r)
}

// read asks the stores.
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
	if r.q.format != formatJSON {
		form, err := r.rowForm()
		if err != nil {
			return err
		}
		r.form = form
		wait := beside(1, func(int) { r.identities = newIdentities(form, r.groups) })
		defer wait()
	}
	return r.readPoints(ctx)
}

// run is one query being answered.
type run struct {
	*api
	q         *queryParams
	workspace uuid.UUID
	asked     time.Time            // when the query came: what is past its retention then is in no answer
	groups    []*group             // of the page
	points    []*timeseries.Points // index for index; nil: the group has none
	meta      reply.Meta
	// How rows are written, and what those of each group begin with; of answers in rows.
	form       rowForm
	identities *identities
}

// selectGroups finds the groups that the page shows.
func (r *run) selectGroups(ctx context.Context) error {
	q := r.q
	if q.grouping == nil {
		list, total, _, err := r.Series.Series(ctx, r.workspace, q.filter, registry.SeriesPage{
			Limit: q.limit, Offset: q.offset,
		})
		if err != nil {
			return err
		}
		r.groups = singly(list)
		r.meta = reply.PageMeta(total, q.limit, q.offset, len(list))
		return r.leaveOut(ctx, list)
	}
	list, err := r.Series.AllSeries(ctx, r.workspace, q.filter, maxGroupedSeries)
	if err != nil {
		return err
	}
	if len(list) > maxGroupedSeries {
		return tooManySeries()
	}
	all := q.grouping.groups(list)
	r.groups = slicePage(all, q.limit, q.offset)
	r.meta = reply.PageMeta(int64(len(all)), q.limit, q.offset, len(r.groups))
	return r.leaveOut(ctx, list)
}

// leaveOut notes what of series is in no answer: what is past its retention, and what is
// deleted.
func (r *run) leaveOut(ctx context.Context, list []registry.Series) (err error) {
	r.q.span.Kept = keptOf(list, r.asked)
	r.q.span.Hidden, err = deleted.Of(ctx, r.Series, r.workspace, list)
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
	ask := timeseries.LatestQuery{
		Workspace: r.workspace, Series: make([]timeseries.LatestSeries, len(r.groups)), Whole: r.wholeSources(),
		Kept: r.q.span.Kept, Hidden: r.q.span.Hidden,
	}
	for i, g := range r.groups {
		ask.Series[i] = timeseries.LatestSeries{ID: g.series[0], Source: *g.source, Texts: g.kind == pointblock.KindString}
	}
	if r.q.hasFrom {
		ask.FromUS = r.q.span.FromUS
	}
	points, err := r.Points.LatestPoints(ctx, ask)
	if err != nil {
		return explainLimits(err, r.QueryTimeout)
	}
	r.points = points
	return nil
}

// wholeSources returns the sources of which the page has all series. Pages are sorted by the
// source, so that only the first and the last can have some on others.
func (r *run) wholeSources() (whole []uuid.UUID) {
	if r.q.filter.Metrics != nil || len(r.q.filter.Tags) > 0 || len(r.groups) == 0 {
		return nil
	}
	first, last := *r.groups[0].source, *r.groups[len(r.groups)-1].source
	for _, g := range r.groups {
		at := *g.source
		switch {
		case len(whole) > 0 && whole[len(whole)-1] == at:
		case at == first && r.q.offset > 0:
		case at == last && r.meta.HasMore:
		default:
			whole = append(whole, at)
		}
	}
	return whole
}

// takeSeries puts points that were found by series to their groups.
func (r *run) takeSeries(found map[uint64]*timeseries.Points) {
	for i, g := range r.groups {
		if points := found[g.series[0]]; points != nil {
			r.points[i] = points
		}
	}
}

// readRaw reads points as they are. One series is paged by cursor; several have
// to fit.
func (r *run) readRaw(ctx context.Context) error {
	q, span := r.q, r.q.span
	of := token.ScopeOf("points", r.workspace, q.asked)
	if q.cursor != "" {
		if len(r.groups) != 1 {
			return fault.Field(
				fault.Malformed, "cursor", "continues the points of one series; the query selects another number of them",
			)
		}
		var at pointPosition
		if err := r.sealer.ReadCursor(q.cursor, of, &at); err != nil {
			return err
		}
		if at.Series != r.groups[0].series[0] {
			return fault.Field(fault.Malformed, "cursor", "was made for another series")
		}
		span.FromUS, span.ToUS = at.FromUS, at.ToUS
	}
	numbers, _ := byKind(r.groups, pointblock.KindNumber)
	texts, _ := byKind(r.groups, pointblock.KindString)
	found, more, err := r.Points.RawPoints(ctx, timeseries.RawQuery{
		Numbers: numbers, Texts: texts, Range: span, Descending: q.descending, Limit: q.rows()})
	if err != nil {
		return explainLimits(err, r.QueryTimeout)
	}
	r.takeSeries(found)
	if !more {
		return nil
	}
	if len(r.groups) != 1 {
		return q.tooManyPoints()
	}
	return r.continueFrom(of, span)
}

// pointPosition is where the points of a raw series go on: what is left of the
// range, so that a relative range stays where it was.
type pointPosition struct {
	Series uint64 `json:"s,string"`
	FromUS int64  `json:"f"`
	ToUS   int64  `json:"t"`
}

func (r *run) continueFrom(of token.Scope, span timeseries.Range) error {
	ts := r.points[0].TS
	at := pointPosition{Series: r.groups[0].series[0], FromUS: span.FromUS, ToUS: span.ToUS}
	if last := ts[len(ts)-1]; r.q.descending {
		at.ToUS = last
	} else {
		at.FromUS = last + 1
	}
	cursor, err := r.sealer.Cursor(of, at)
	r.meta.NextCursor = &cursor
	return err
}

// readDownsampled reads the points that keep the shape of each series. Texts have
// none: their points are read as they are.
func (r *run) readDownsampled(ctx context.Context) error {
	q := r.q
	numbers, _ := byKind(r.groups, pointblock.KindNumber)
	found, more, err := r.Points.Downsample(ctx, timeseries.DownsampleQuery{
		Series: numbers, Range: q.span, Most: q.perSeries(), Limit: q.rows(),
	})
	if err != nil {
		return explainLimits(err, r.QueryTimeout)
	}
	r.takeSeries(found)
	left := q.rows()
	for _, points := range found {
		left -= len(points.TS)
	}
	if texts, _ := byKind(r.groups, pointblock.KindString); len(texts) > 0 && !more {
		found, more, err = r.Points.RawPoints(ctx, timeseries.RawQuery{Texts: texts, Range: q.span, Limit: left})
		if err != nil {
			return explainLimits(err, r.QueryTimeout)
		}
		r.takeSeries(found)
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

// readAggregates reads a row a group and bucket, and fills buckets without points.
func (r *run) readAggregates(ctx context.Context) error {
	q := r.q
	var starts []int64
	ask := timeseries.AggregateQuery{Range: q.span, Functions: q.functions, Limit: q.rows()}
	if q.interval != 0 {
		ask.Grid = timeseries.NewGrid(q.interval, q.zone, q.span.FromUS, q.span.ToUS)
		if q.fill.mode != fillNone {
			most := q.rows() / max(len(r.groups), 1)
			if ask.Grid.Count(q.span.FromUS, q.span.ToUS, most) > most {
				return q.tooManyPoints()
			}
			starts = bucketStarts(ask.Grid, q.span)
		}
	}
	for _, kind := range []pointblock.Kind{pointblock.KindNumber, pointblock.KindString} {
		ask.Texts = kind == pointblock.KindString
		ask.Series, ask.Groups = byKind(r.groups, kind)
		found, more, err := r.Points.Aggregate(ctx, ask)
		if err != nil {
			return explainLimits(err, r.QueryTimeout)
		}
		if more {
			return q.tooManyPoints()
		}
		for i, rows := range found {
			r.points[i] = rows
			ask.Limit -= len(rows.TS)
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

// textual reports which columns of a group of the kind hold texts.
func (q *queryParams) textual(kind pointblock.Kind) []bool {
	textual := make([]bool, len(q.functions))
	for i, f := range q.functions {
		textual[i] = kind == pointblock.KindString && (f == timeseries.First || f == timeseries.Last)
	}
	return textual
}

func reverse(p *timeseries.Points) {
	p.TS = slices.Clone(p.TS) // groups share the starts of filled buckets
	slices.Reverse(p.TS)
	for _, c := range p.Columns {
		slices.Reverse(c.Numbers)
		slices.Reverse(c.Texts)
	}
}
