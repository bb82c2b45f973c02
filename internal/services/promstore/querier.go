package promstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// labelsOnly is the function in the hints of a selection that needs labels and no samples.
const labelsOnly = "series"

// Querier implements storage.Queryable.
func (q *Query) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{Query: q, mint: mint, maxt: maxt}, nil
}

// querier implements storage.Querier for times from mint to maxt, both inclusive, in milliseconds.
type querier struct {
	*Query
	mint, maxt int64
}

// Close releases the memory of the query's samples to other queries.
func (q *querier) Close() error {
	q.release()
	return nil
}

// Select reads the series that match all matchers, and their samples in the range of the hints. The series
// are sorted, whether or not the caller asks for it.
func (q *querier) Select(
	ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	list, err := q.selectSeries(ctx, matchers)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	mint, maxt := q.mint, q.maxt
	if hints != nil {
		mint, maxt = hints.Start, hints.End
	}
	if hints == nil || hints.Func != labelsOnly {
		if err := q.readSamples(ctx, list, mint, maxt); err != nil {
			return storage.ErrSeriesSet(err)
		}
		// as in Prometheus, a series without samples in the range is not selected
		list = slices.DeleteFunc(list, func(s *series) bool { return len(s.times) == 0 })
	}
	return newSeriesSet(list)
}

// errNoLists is returned instead of lists of labels: neither the engine nor the rules read them, and
// the API lists labels by Query.Series.
var errNoLists = errors.New("promstore: labels are listed by Query.Series")

// LabelValues implements storage.Querier. It returns an error.
func (q *querier) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, errNoLists
}

// LabelNames implements storage.Querier. It returns an error.
func (q *querier) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, errNoLists
}

// selectSeries returns the series that match all matchers, with their labels.
func (q *Query) selectSeries(ctx context.Context, matchers []*labels.Matcher) (list []*series, err error) {
	remaining := q.store.MaxSeries - q.series
	err = q.match(ctx, matchers, func(s *registry.LabelledSeries, ls labels.Labels) bool {
		list = append(list, &series{labels: ls, registered: registry.Series{
			ID: s.ID, SourceID: s.Source.ID, Metric: s.Metric, Kind: s.Kind,
			RetentionDays: s.Source.RetentionDays,
		}})
		return len(list) <= remaining
	})
	if err != nil {
		return nil, err
	}
	if len(list) > remaining {
		return nil, tooManySeries(q.store.MaxSeries)
	}
	q.series += len(list)
	return list, nil
}

// readSizes are the numbers of samples up to which a selection is read, each after the one before it was
// too small. The number of samples in a range is not known before, and a selection must not reserve the
// memory of the largest one.
var readSizes = []int{100_000, 1_000_000}

// readSamples reads the samples of series from mint to maxt, both inclusive, in milliseconds.
func (q *querier) readSamples(ctx context.Context, list []*series, mint, maxt int64) error {
	if len(list) == 0 {
		return nil
	}
	query, err := q.rawQuery(ctx, list, mint, maxt)
	if err != nil {
		return err
	}
	remaining := q.store.MaxSamples - q.samples
	for _, size := range append(slices.Clone(readSizes), remaining) {
		if size = min(size, remaining); size <= query.Limit {
			break
		}
		query.Limit = size
		share, err := q.store.Reserve(int64(size))
		if err != nil {
			return err
		}
		found, more, err := q.store.Points.RawPoints(ctx, query)
		if err != nil || more {
			share.Release()
		}
		if err != nil {
			return fmt.Errorf("reading samples: %w", err)
		}
		if !more {
			q.keep(list, found, share)
			return nil
		}
	}
	return tooManySamples(q.store.MaxSamples)
}

// rawQuery returns the query of the points of series in a time range.
func (q *Query) rawQuery(
	ctx context.Context, list []*series, mint, maxt int64,
) (query timeseries.RawQuery, err error) {
	query.TextUnit = sampleBytes
	query.Range = timeseries.Range{FromUS: storableMS(mint) * 1000, ToUS: (storableMS(maxt) + 1) * 1000}
	registered := make([]registry.Series, len(list))
	for i, s := range list {
		registered[i] = s.registered
		if s.registered.Kind == pointblock.KindSpecial {
			query.Strings = append(query.Strings, s.registered.ID)
		} else {
			query.Numbers = append(query.Numbers, s.registered.ID)
		}
	}
	query.Range.KeptFrom = registry.KeptFromEach(registered, q.now)
	slices.Sort(query.Numbers)
	slices.Sort(query.Strings)
	query.Range.Hidden, err = q.store.Exclusions(ctx, q.workspace, registered)
	if err != nil {
		return query, fmt.Errorf("reading deletions: %w", err)
	}
	return query, nil
}

// storableMS returns the nearest time that can be stored.
func storableMS(ms int64) int64 { return min(max(ms, 0), pointblock.MaxTimestampUS/1000) }

// keep moves the found points to their series, and keeps as much of the share of the budget as they need.
func (q *querier) keep(list []*series, found map[uint64]*timeseries.Points, share *budget.Share) {
	read := 0
	for _, s := range list {
		if points := found[s.registered.ID]; points != nil {
			s.samples = samples{times: points.TS, values: points.Columns[0].Numbers}
			if s.registered.Kind == pointblock.KindSpecial {
				s.samples = specialSamples(points.TS, points.Columns[0].Strings)
			}
			read += s.memory()
			s.toMilliseconds()
		}
	}
	q.samples += read
	share.Shrink(int64(read))
	q.shares = append(q.shares, share)
}
