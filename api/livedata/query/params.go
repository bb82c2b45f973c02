package query

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/livedata/selector"
	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

const (
	defaultPoints = 10_000
	maxPoints     = 1_000_000
	defaultRange  = time.Hour
)

// queryParams are the parameters of a query.
type queryParams struct {
	filter     registry.SeriesFilter
	span       timeseries.Range
	hasFrom    bool
	functions  []timeseries.Function // none: raw points
	interval   time.Duration         // zero: the whole range is one bucket
	resolution resolution
	zone       *time.Location
	fill       fill
	grouping   *grouping
	descending bool
	latest     bool
	epoch      string // of timestamps; "": RFC 3339
	format     columns.Format
	limit      int
	offset     int
	points     int    // maximum number of points of the answer
	cursor     string // of the points of one raw series
	checkpoint string

	// cursorScope contains the parameters that define the points and their order, as they
	// were written. A cursor is only valid with the same ones.
	cursorScope any
}

// readQuery parses a query's parameters; all errors in parameters are Malformed. The header of the request selects the
// format if the parameters do not.
func readQuery(p *request.Params, header http.Header, now time.Time) (*queryParams, error) {
	q := &queryParams{filter: selector.Read(p), grouping: parseGrouping(p), latest: p.Bool("latest")}
	q.format = columns.ReadFormat(
		p, header, columns.JSON, columns.CSV, columns.NDJSON, columns.Arrow, columns.Parquet,
	)
	q.limit, q.offset = p.PageUpTo(q.format.MaxLimit())
	q.points = p.Int("pointsLimit", defaultPoints, 1, maxPoints)
	q.descending = p.OneOf("order", "asc", "asc", "desc") == "desc"
	q.epoch = p.OneOf("epoch", "", "ms", "us", "ns")
	q.cursor, _ = p.String("cursor")
	q.checkpoint, _ = p.String("checkpoint")
	q.readFunctions(p)
	from, to := q.readRange(p, now)
	q.readBuckets(p)
	q.readResolution(p)
	q.cursorScope = []any{q.filter, from, to, q.descending}
	q.checkCombination(p)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return q, q.chooseInterval()
}

func (q *queryParams) readFunctions(p *request.Params) {
	allowed := timeseries.FunctionNames()
	for _, name := range p.List("aggregation") {
		f := timeseries.Function(name)
		switch {
		case !slices.Contains(allowed, name):
			p.Fail("aggregation", "is not one of the allowed values", allowed...)
		case slices.Contains(q.functions, f):
			p.Fail("aggregation", "has "+name+" twice")
		}
		q.functions = append(q.functions, f)
	}
}

// readRange parses from and to and returns their texts. Without from the range is the hour
// before to.
func (q *queryParams) readRange(p *request.Params, now time.Time) (from, to string) {
	q.span.ToUS = now.UnixMicro()
	to, given := p.String("to")
	if given {
		q.span.ToUS = q.readTime(p, "to", to, now)
	}
	q.span.FromUS = value.Storable(q.span.ToUS - defaultRange.Microseconds())
	from, q.hasFrom = p.String("from")
	if q.hasFrom {
		q.span.FromUS = q.readTime(p, "from", from, now)
	}
	if q.span.FromUS > q.span.ToUS {
		p.Fail("from", "is after to")
	}
	if q.latest && given {
		p.Fail("to", "cannot be combined with latest")
	}
	return from, to
}

func (q *queryParams) readTime(p *request.Params, name, text string, now time.Time) int64 {
	us, problem := value.ParseTime(text, now)
	if problem != "" {
		p.Fail(name, problem)
	}
	return us
}

// readBuckets parses interval, timezone and fill.
func (q *queryParams) readBuckets(p *request.Params) {
	var problem string
	switch interval, given := p.String("interval"); {
	case interval == autoInterval:
		q.resolution.auto = true
	case given:
		if q.interval, problem = parseInterval(interval); problem != "" {
			p.Fail("interval", problem)
		}
	}
	q.zone = time.UTC
	if name, given := p.String("timezone"); given {
		if q.zone, problem = parseZone(name); problem != "" {
			p.Fail("timezone", problem)
		}
	}
	if text, given := p.String("fill"); given {
		var ok bool
		if q.fill, ok = parseFill(text); !ok {
			p.Fail("fill", "must be one of the allowed values, or a number", "none", "null", "previous", "linear")
		}
	}
}

// checkCombination refuses parameters that cannot be combined. It reports the first match in
// the table.
func (q *queryParams) checkCombination(p *request.Params) {
	aggregated, bucketed := len(q.functions) > 0, q.interval != 0 || q.resolution.auto
	for _, c := range []struct {
		bad           bool
		field, reason string
	}{
		{q.latest && aggregated, "latest", "cannot be combined with aggregation"},
		{q.latest && q.cursor != "", "cursor", "cannot be combined with latest"},
		{!aggregated && bucketed, "interval", "needs aggregation"},
		{!aggregated && q.grouping != nil, "groupBy", "needs aggregation"},
		{!bucketed && q.fill.mode != fillNone, "fill", "needs interval"},
		{aggregated && q.cursor != "", "cursor", "continues raw points only"},
		{q.format.IsColumns() && q.epoch != "", "epoch", "is of text formats: arrow and parquet have typed timestamps"},
		{q.resolution.downsample && aggregated, "downsample", "is of raw points: it cannot be combined with aggregation"},
		{q.resolution.downsample && q.latest, "downsample", "cannot be combined with latest"},
		{q.resolution.downsample && q.cursor != "", "cursor", "cannot be combined with downsample"},
		{
			q.resolution.pointsPerSeries > 0 && !q.resolution.downsample && !q.resolution.auto, "maxPoints",
			"needs downsample=lttb or interval=auto",
		},
	} {
		if c.bad {
			p.Fail(c.field, c.reason)
		}
	}
}

// columns names the columns of the answer's points.
func (q *queryParams) columns() []string {
	if len(q.functions) == 0 {
		return []string{"timestamp", "value"}
	}
	names := []string{"timestamp"}
	for _, f := range q.functions {
		names = append(names, string(f))
	}
	return names
}

// maxCells bounds the values of an answer: rows times aggregations.
const maxCells = 2 * maxPoints

// rows returns the maximum number of rows of the answer.
func (q *queryParams) rows() int { return min(q.points, maxCells/max(len(q.functions), 1)) }

// narrow lists the parameters that make a query smaller.
var narrow = []string{"from", "to", "sourceId", "nodeId", "metric", "tag.<key>", "interval", "maxPoints", "limit"}

// tooManyPoints returns the error for a query whose answer exceeds its limit.
func (q *queryParams) tooManyPoints() error {
	hint := "ask for a shorter range, fewer series (limit, sourceId, metric, tag.<key>) or more points (pointsLimit)"
	switch {
	case q.resolution.downsample || q.resolution.auto:
		hint = "ask for fewer points a series (maxPoints), fewer series (limit, sourceId, metric, tag.<key>) or more " +
			"points (pointsLimit)"
	case q.interval != 0:
		hint = "ask for a longer interval, a shorter range, fewer series or more points (pointsLimit)"
	case len(q.functions) == 0:
		hint += ", or for one series and page with cursor"
	}
	return fault.Newf(fault.Invalid, "The answer has more than %d points: %s", q.rows(), hint).
		With("field", "pointsLimit").With(
		"reason", "the answer has more points",
	).With("limit", q.rows()).With("narrow", narrow)
}

// tooManySeries returns the error for a grouping over more series than one query reads.
func tooManySeries() error {
	return fault.Newf(
		fault.Invalid, "The query covers more than %d series: select fewer by sourceId, nodeId, metric or tag.<key>",
		maxGroupedSeries,
	).
		With("field", "groupBy").With("reason", "covers too many series").With("limit", maxGroupedSeries).
		With("narrow", []string{"sourceId", "source", "nodeId", "metric", "tag.<key>"})
}

// explainLimits adds what to narrow to the error of a query that ran out of time or memory.
func explainLimits(err error, timeout time.Duration) error {
	if fault.Is(err, fault.Invalid) {
		return fault.New(
			fault.Invalid, "The query needs too much memory: ask for a shorter range, fewer series or fewer aggregations",
		).
			With("field", "query").With("reason", "needs too much memory").With("narrow", narrow).Because(err)
	}
	return explainTimeout(err, timeout)
}

// explainTimeout adds what to narrow to the error of a query that timed out in any store.
func explainTimeout(err error, timeout time.Duration) error {
	late := fault.Is(err, fault.Timeout) || fault.Is(err, fault.Internal) && errors.Is(err, context.DeadlineExceeded)
	if !late {
		return err
	}
	seconds := int(math.Ceil(timeout.Seconds()))
	return fault.Newf(
		fault.Timeout, "The query took longer than %d s: ask for a shorter range, fewer series or a longer interval", seconds,
	).
		With("field", "query").With("reason", "took too long").With("limit", seconds).With("narrow", narrow).
		After(time.Second).Because(err)
}
