package promql

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/promengine"
	"github.com/livegraph/livegraph/internal/services/promstore"
)

// errTruncated is the warning of Prometheus in an answer that was cut to its limit.
var errTruncated = errors.New("results truncated due to limit")

// query evaluates a query at one time.
func (a *api) query(ctx context.Context, c *call) (answer, func(), error) {
	at, err := c.form.time("time", c.now)
	if err != nil {
		return answer{}, nil, err
	}
	return a.evaluate(ctx, c, &evaluation{start: at, end: at, instant: true})
}

// queryRange evaluates a query at the times of a range.
func (a *api) queryRange(ctx context.Context, c *call) (answer, func(), error) {
	start, err := c.requiredTime("start")
	if err != nil {
		return answer{}, nil, err
	}
	end, err := c.requiredTime("end")
	if err != nil {
		return answer{}, nil, err
	}
	if end.Before(start) {
		return answer{}, nil, invalidParameter("end", "end timestamp must not be before start time")
	}
	step, err := c.form.duration("step")
	switch {
	case err != nil:
		return answer{}, nil, err
	case c.form.get("step") == "":
		return answer{}, nil, invalidParameter("step", "is required")
	case step < time.Millisecond:
		return answer{}, nil, invalidParameter("step", "zero or negative query resolution step widths are not accepted. "+
			"Try a positive integer; the smallest step is 1ms")
	case end.Sub(start)/step > maxPoints:
		return answer{}, nil, fault.Newf(fault.Malformed, "exceeded maximum resolution of %d points per timeseries. Try "+
			"decreasing the query resolution (?step=XX) or the range (?start, ?end)", maxPoints).With("field", "step")
	}
	return a.evaluate(ctx, c, &evaluation{start: start, end: end, step: step})
}

func (c *call) requiredTime(name string) (time.Time, error) {
	if c.form.get(name) == "" {
		return time.Time{}, invalidParameter(name, "is required")
	}
	return c.form.time(name, c.now)
}

// evaluate runs a query when a place is free.
func (a *api) evaluate(ctx context.Context, c *call, e *evaluation) (result answer, release func(), err error) {
	limit, err := c.form.limit()
	if err != nil {
		return result, nil, err
	}
	delta, err := c.form.duration("lookback_delta")
	if err != nil {
		return result, nil, err
	}
	timeout, err := c.form.duration("timeout")
	if err != nil {
		return result, nil, err
	}
	text := c.form.get("query")
	expr, err := parse(text)
	if err != nil {
		return result, nil, err
	}
	if c.form.get("timeout") != "" && timeout < a.QueryTimeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	leave, err := a.places.acquire(ctx, c.workspace)
	if err != nil {
		return result, nil, err
	}
	defer leave()
	q, res, err := a.run(ctx, c, e, expr, promql.NewPrometheusQueryOpts(false, delta))
	if err != nil {
		return result, nil, invalidParameter("query", err.Error())
	}
	release = q.Close
	if res.Err != nil {
		return result, release, res.Err
	}
	// the answer is in memory until the client has read it
	share, err := a.Store.Reserve(points(res.Value))
	if err != nil {
		return result, release, err
	}
	release = func() { q.Close(); share.Release() }
	warnings := res.Warnings
	if truncate(res, limit) {
		warnings = warnings.Add(errTruncated)
	}
	data := queryData{value: res.Value}
	if c.form.get("stats") != "" {
		data.stats = stats.NewQueryStats(q.Stats())
	}
	result.data = &data
	result.warnings, result.infos = warnings.AsStrings(text, maxAnnotations, maxAnnotations)
	return result, release, nil
}

// run evaluates a query with the engine. Functions over range vectors are computed by the store if the query
// reads too many samples, or always, as far as they can be.
func (a *api) run(
	ctx context.Context, c *call, e *evaluation, expr parser.Expr, options promql.QueryOpts,
) (q promql.Query, res *promql.Result, err error) {
	if a.Windows == WindowsAlways {
		if q, res = a.runWindows(ctx, c, e, expr, options); q != nil {
			return q, res, nil
		}
	}
	q, res, err = e.run(ctx, a.engine, a.Store.Query(c.workspace, c.now), options, c.form.get("query"))
	if err != nil || a.Windows == WindowsAlways || !hasTooManySamples(res.Err) {
		return q, res, err
	}
	if other, result := a.runWindows(ctx, c, e, expr, options); other != nil {
		q.Close()
		return other, result, nil
	}
	return q, res, nil
}

// runWindows evaluates a query with its functions over range vectors computed by the store. The query is nil if
// none of them can be, or if the result could differ.
func (a *api) runWindows(
	ctx context.Context, c *call, e *evaluation, expr parser.Expr, options promql.QueryOpts,
) (promql.Query, *promql.Result) {
	rewritten := rewrite(c.form.get("query"), expr, e)
	if rewritten == nil {
		return nil, nil
	}
	data := &windowStorage{a.Store.Query(c.workspace, c.now), rewritten.calls}
	q, res, err := e.run(ctx, a.engine, data, options, rewritten.text)
	switch {
	case err != nil:
		return nil, nil
	case errors.Is(res.Err, promstore.ErrNoWindows):
		q.Close()
		return nil, nil
	}
	return q, res
}

// points returns the number of points of a result.
func points(value parser.Value) (n int64) {
	switch v := value.(type) {
	case promql.Matrix:
		return int64(v.TotalSamples())
	case promql.Vector:
		return int64(len(v))
	}
	return 1
}

// maxAnnotations is the maximum number of warnings, and of infos, of an answer.
const maxAnnotations = 10

// truncate cuts a result to a number of series, unless it is zero, and reports whether it did.
func truncate(res *promql.Result, limit int) bool {
	cut := false
	switch v := res.Value.(type) {
	case promql.Matrix:
		v, cut = firstOf(v, limit)
		res.Value = v
	case promql.Vector:
		v, cut = firstOf(v, limit)
		res.Value = v
	}
	return cut
}

// firstOf returns the first elements of a list, up to limit unless it is zero, and reports whether the
// list has more.
func firstOf[L ~[]E, E any](list L, limit int) (first L, cut bool) {
	if cut = limit > 0 && len(list) > limit; cut {
		list = list[:limit]
	}
	return list, cut
}

// parse parses a query within the limits of its length and depth.
func parse(text string) (parser.Expr, error) {
	expr, err := promengine.Parse(text)
	if err != nil {
		return nil, invalidParameter("query", err.Error())
	}
	return expr, nil
}

// formatQuery answers with the query in its usual form.
func (a *api) formatQuery(_ context.Context, c *call) (answer, func(), error) {
	expr, err := parse(c.form.get("query"))
	if err != nil {
		return answer{}, nil, err
	}
	return answer{data: text(expr.Pretty(0))}, nil, nil
}
