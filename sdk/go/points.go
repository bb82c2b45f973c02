package livegraph

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WriteOptions applies to all points of a request.
type WriteOptions struct {
	// Source is the name of the source of points without one. The source must exist.
	Source string `json:"source,omitempty"`
	// Metric is the metric of points without one.
	Metric string `json:"metric,omitempty"`
	// Tags are the tags of points without tags.
	Tags map[string]string `json:"tags,omitempty"`
	// Precision is the unit of timestamps that are integers, by default milliseconds.
	Precision Precision `json:"precision,omitempty"`
	// Strict is true if all points are rejected when one is.
	Strict bool `json:"-"`
}

// Points are the points of sources.
type Points struct{ t *transport }

// Write writes up to 1,000,000 points. Their timestamps are [time.Time], integers or RFC 3339. A request with points
// without a timestamp has an idempotency key: they get the time when the server received the first attempt.
//
// The result has the numbers of accepted and rejected points, the reasons, and the checkpoint for
// [Client.WaitVisible]. Accepted points are durable. The error is [ErrInvalid] if all points were rejected.
func (p *Points) Write(ctx context.Context, points []Point, options WriteOptions) (*IngestResult, error) {
	untimed := slices.ContainsFunc(points, func(point Point) bool { return point.Timestamp == nil })
	return p.write(ctx, struct {
		WriteOptions
		Points []Point `json:"points"`
	}{options, points}, options.Strict, untimed)
}

// WriteSeries writes points as columns, which is faster for many points of each series. See [Points.Write].
func (p *Points) WriteSeries(ctx context.Context, series []PointSeries, options WriteOptions) (*IngestResult, error) {
	untimed := slices.ContainsFunc(series, func(s PointSeries) bool { return s.Timestamps == nil })
	return p.write(ctx, struct {
		WriteOptions
		Series []PointSeries `json:"series"`
	}{options, series}, options.Strict, untimed)
}

func (p *Points) write(ctx context.Context, content any, strict, untimed bool) (*IngestResult, error) {
	r, err := ingest.withBody(content)
	if err != nil {
		return nil, err
	}
	return p.ingest(ctx, r, strict, untimed)
}

// LineOptions is how line protocol is written.
type LineOptions struct {
	// Precision is the unit of timestamps: ns (the default), us, ms, s, m or h.
	Precision string
	// Strict is true if all points are rejected when one is.
	Strict bool
}

// WriteLines writes line protocol, such as "boiler,room=A temperature=71.5 1748768400000000000". A source that does
// not exist is created.
func (p *Points) WriteLines(ctx context.Context, lines []byte, options LineOptions) (*IngestResult, error) {
	r := ingest.request()
	r.Body, r.Header, r.Query = lines, http.Header{"Content-Type": {"text/plain"}}, url.Values{}
	setText(r.Query, "precision", options.Precision)
	return p.ingest(ctx, r, options.Strict, true)
}

// ingest sends points. Those with timestamps replace themselves when they are sent again.
func (p *Points) ingest(ctx context.Context, r *Request, strict, untimed bool) (*IngestResult, error) {
	if strict {
		if r.Query == nil {
			r.Query = url.Values{}
		}
		r.Query.Set("strict", "true")
	}
	if untimed {
		r.set("Idempotency-Key", newIdempotencyKey())
	}
	return fetch[*IngestResult](ctx, p.t, r)
}

// SeriesFilter selects series.
type SeriesFilter struct {
	// Source is the exact name of the source.
	Source    string
	SourceIDs []string
	// NodeID is the node that the source is linked to.
	NodeID  string
	Metrics []string
	Tags    Filter
}

func (f *SeriesFilter) values() url.Values {
	q := url.Values{}
	setText(q, "source", f.Source)
	setTexts(q, "sourceId", f.SourceIDs)
	setText(q, "nodeId", f.NodeID)
	setTexts(q, "metric", f.Metrics)
	setFilter(q, "tag", f.Tags)
	return q
}

// Aggregation is a function of the points of a bucket: avg, min, max, sum, count, first, last, stddev, p50, p90, p95,
// p99, rate or delta.
type Aggregation string

// PointQuery selects points and how they are returned. Fields that are zero are not sent.
type PointQuery struct {
	SeriesFilter
	// From is inclusive. The default is one hour before To, and for the latest points any time.
	From Time
	// To is exclusive. The default is now.
	To Time
	// Order is asc (the default) or desc, of the points of each series.
	Order string
	// PointsLimit is the maximum number of points in a response, up to 1,000,000. The default is 10,000.
	PointsLimit int
	// Epoch is ms, us or ns: timestamps are integers in this unit. [PointRows.Numbers] reads only texts and ms.
	Epoch string
	// Checkpoint waits up to 5 seconds until the points of this ingest are visible.
	Checkpoint string
	// Downsample is lttb: the number of raw points is reduced to MaxPoints, and the shape of their chart is kept.
	Downsample string
	// MaxPoints is the number of points of a series with Downsample, and of buckets with the interval auto.
	MaxPoints int
	// Interval is the length of buckets, 1s to 30d, or auto. Without it, an aggregation returns one row.
	Interval string
	// GroupBy is sourceId, metric, tag.KEY (several separated by commas) or none: series are aggregated together.
	GroupBy string
	// Timezone is the IANA time zone that buckets are aligned to.
	Timezone string
	// Fill is the value of empty buckets: none, null, previous, linear or a number.
	Fill string
}

func (f *PointQuery) values() url.Values {
	q := f.SeriesFilter.values()
	setText(q, "from", f.From)
	setText(q, "to", f.To)
	setText(q, "order", f.Order)
	setNumber(q, "pointsLimit", f.PointsLimit)
	setText(q, "epoch", f.Epoch)
	setText(q, "checkpoint", f.Checkpoint)
	setText(q, "downsample", f.Downsample)
	setNumber(q, "maxPoints", f.MaxPoints)
	setText(q, "interval", f.Interval)
	setText(q, "groupBy", f.GroupBy)
	setText(q, "timezone", f.Timezone)
	setText(q, "fill", f.Fill)
	return q
}

// Query returns a page of series with their raw points. The points of a single series are paged by the cursor.
func (p *Points) Query(ctx context.Context, query PointQuery, paging Paging) (*Page[PointRows], error) {
	return p.page(ctx, query.values(), paging)
}

// All iterates over the series with their raw points, page by page. A series can be returned in several parts.
func (p *Points) All(ctx context.Context, query PointQuery) iter.Seq2[PointRows, error] {
	return pages[PointRows](ctx, p.t, queryPoints.withQuery(query.values()))
}

// Aggregate returns a page of series, or groups, with one column per function and one row per bucket.
func (p *Points) Aggregate(
	ctx context.Context, query PointQuery, paging Paging, functions ...Aggregation,
) (*Page[PointRows], error) {
	q := query.values()
	names := make([]string, len(functions))
	for i, function := range functions {
		names[i] = string(function)
	}
	setText(q, "aggregation", strings.Join(names, ","))
	return p.page(ctx, q, paging)
}

// Latest returns a page of series with the newest point of each, of any age unless From is set.
func (p *Points) Latest(ctx context.Context, query PointQuery, paging Paging) (*Page[PointRows], error) {
	q := query.values()
	q.Set("latest", "true")
	return p.page(ctx, q, paging)
}

func (p *Points) page(ctx context.Context, q url.Values, paging Paging) (*Page[PointRows], error) {
	return fetchPage[PointRows](ctx, p.t, queryPoints.withQuery(paging.values(q)))
}

// Series iterates over the series with the number of their points and the times of the oldest and the newest.
func (p *Points) Series(ctx context.Context, filter SeriesFilter) iter.Seq2[Series, error] {
	return pages[Series](ctx, p.t, listSeries.withQuery(filter.values()))
}

// Stream returns a stream of the points that arrive from now on, or after the event with this id if it is not "".
//
// The type of an event is points, deleted, reset or dropped, and its methods Points, Deleted and Gap return the
// content. Reset and dropped mean that events may be missing: query these points. After dropped the stream is opened
// again. A point can be received more than once; the last value of a series and time applies.
func (p *Points) Stream(filter SeriesFilter, after string) *EventStream {
	return newEventStream(p.t, streamPoints.withQuery(filter.values()), after)
}

// PointRange selects points of a source.
type PointRange struct {
	// Metric is the metric; "": all metrics.
	Metric string
	// From is inclusive, To exclusive. "": no bound.
	From, To Time
}

// Delete deletes the points of a source that were accepted before the request. It requires the scope admin. The
// request is not repeated if the server may have executed it, because points that were accepted in the meantime
// would be deleted.
func (p *Points) Delete(ctx context.Context, sourceID string, points PointRange) (*PointsDeletion, error) {
	r := deletePoints.request()
	r.Query, r.Once = url.Values{"sourceId": {sourceID}}, true
	setText(r.Query, "metric", points.Metric)
	setText(r.Query, "from", points.From)
	setText(r.Query, "to", points.To)
	return fetch[*PointsDeletion](ctx, p.t, r)
}

// Numbers returns the numbers of a column with their times. It skips rows without a number in the column.
func (r *PointRows) Numbers(column string) (times []time.Time, values []float64) {
	index := slices.Index(r.Columns, column)
	if index < 1 {
		return nil, nil
	}
	for _, row := range r.Points {
		if len(row) <= index {
			continue
		}
		if value, ok := row[index].(float64); ok {
			times, values = append(times, timeOf(row[0])), append(values, value)
		}
	}
	return times, values
}

// timeOf returns the time of a cell: RFC 3339 or milliseconds. It is zero if the cell has none.
func timeOf(cell any) time.Time {
	switch v := cell.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at
		}
	case float64:
		return time.UnixMilli(int64(v)).UTC()
	}
	return time.Time{}
}

// Text returns the value of a row in a column as text; "" if it is null or does not exist.
func (r *PointRows) Text(row int, column string) string {
	index := slices.Index(r.Columns, column)
	if index < 0 || row < 0 || row >= len(r.Points) || index >= len(r.Points[row]) {
		return ""
	}
	switch v := r.Points[row][index].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}
