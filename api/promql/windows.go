package promql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/livegraph/livegraph/internal/services/promstore"
)

// windowLabel is the label of the selectors that replace calls in a rewritten query. No query that contains it
// is rewritten.
const windowLabel = "_"

// maxWindowCalls is the maximum number of calls of a query that are replaced.
const maxWindowCalls = 20

// windowQuery is a query whose calls of functions over windows are replaced by selectors of their results.
type windowQuery struct {
	text  string // as long as the original, so that annotations have the same positions
	calls []windowCall
}

type windowCall struct {
	promstore.WindowCall
	matchers []*labels.Matcher
}

// rewrite returns the query with its calls replaced, nil if none can be.
func rewrite(text string, expr parser.Expr, e *evaluation) *windowQuery {
	if strings.Contains(text, windowLabel+"=") || strings.Contains(text, windowLabel+" ") {
		return nil
	}
	w := &windowQuery{text: text}
	w.visit(expr, e)
	if len(w.calls) == 0 || len(w.calls) > maxWindowCalls {
		return nil
	}
	return w
}

// visit replaces the calls below a node. It leaves out subqueries, which are evaluated at other times, and
// the arguments of functions that treat selectors in another way than other vectors.
func (w *windowQuery) visit(node parser.Node, e *evaluation) {
	switch n := node.(type) {
	case *parser.SubqueryExpr:
		return
	case *parser.Call:
		switch n.Func.Name {
		case "absent", "timestamp", "info":
			return
		}
		if w.replace(n, e) {
			return
		}
	}
	for child := range parser.ChildrenIter(node) {
		w.visit(child, e)
	}
}

// replace replaces a call in the text, and reports whether it did.
func (w *windowQuery) replace(c *parser.Call, e *evaluation) bool {
	if len(c.Args) != 1 || !promstore.IsWindowFunction(c.Func.Name) {
		return false
	}
	matrix, ok := c.Args[0].(*parser.MatrixSelector)
	if !ok || matrix.RangeExpr != nil {
		return false
	}
	selector, ok := matrix.VectorSelector.(*parser.VectorSelector)
	if !ok || selector.OriginalOffsetExpr != nil || selector.Timestamp != nil || selector.StartOrEnd != 0 ||
		selector.Anchored || selector.Smoothed {
		return false
	}
	at := c.PositionRange()
	placeholder := fmt.Sprintf(`{%s="%d"}`, windowLabel, len(w.calls))
	padding := int(at.End-at.Start) - len(placeholder)
	if padding < 0 {
		return false
	}
	w.text = w.text[:at.Start] + placeholder + strings.Repeat(" ", padding) + w.text[at.End:]
	length := matrix.Range.Milliseconds()
	call := promstore.WindowCall{
		Function: c.Func.Name, Start: e.start.UnixMilli(), Step: length, Count: 1, Length: length,
		Offset: selector.OriginalOffset.Milliseconds(),
		NonCounter: func(metric string) error {
			return annotations.NewPossibleNonCounterInfo(metric, matrix.PositionRange())
		},
	}
	if !e.instant {
		call.Step = e.step.Milliseconds()
		call.Count = (e.end.UnixMilli()-call.Start)/call.Step + 1
	}
	w.calls = append(w.calls, windowCall{WindowCall: call, matchers: selector.LabelMatchers})
	return true
}

// windowStorage is the storage of a rewritten query.
type windowStorage struct {
	*promstore.Query
	calls []windowCall
}

// Querier implements storage.Queryable.
func (s *windowStorage) Querier(from, to int64) (storage.Querier, error) {
	querier, err := s.Query.Querier(from, to)
	return &windowQuerier{querier, s}, err
}

type windowQuerier struct {
	storage.Querier
	storage *windowStorage
}

// Select implements storage.Querier.
func (q *windowQuerier) Select(
	ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	if len(matchers) != 1 || matchers[0].Name != windowLabel {
		return q.Querier.Select(ctx, sorted, hints, matchers...)
	}
	index, err := strconv.Atoi(matchers[0].Value)
	if err != nil || index < 0 || index >= len(q.storage.calls) {
		return storage.ErrSeriesSet(promstore.ErrNoWindows)
	}
	call := &q.storage.calls[index]
	set, err := q.storage.Windows(ctx, &call.WindowCall, call.matchers)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	return set
}

// evaluation is the times at which a query is evaluated.
type evaluation struct {
	start, end time.Time
	step       time.Duration
	instant    bool
}

// run evaluates a query with the engine. The error is that of a query that the engine does not accept.
func (e *evaluation) run(
	ctx context.Context, engine *promql.Engine, data storage.Queryable, options promql.QueryOpts, text string,
) (q promql.Query, res *promql.Result, err error) {
	if e.instant {
		q, err = engine.NewInstantQuery(ctx, data, options, text, e.start)
	} else {
		q, err = engine.NewRangeQuery(ctx, data, options, text, e.start, e.end, e.step)
	}
	if err != nil {
		return nil, nil, err
	}
	return q, q.Exec(ctx), nil
}

// hasTooManySamples reports whether a query failed because of the number of its samples.
func hasTooManySamples(err error) bool {
	var many promql.ErrTooManySamples
	return promstore.IsTooManySamples(err) || errors.As(err, &many)
}
