// Package promstore presents the points of a workspace as a storage of Prometheus, so that Prometheus'
// own engine can evaluate PromQL over them. It selects series by their labels in the registry, reads
// their points from the store of points, and bounds the series, samples and memory of queries. It computes
// functions of windows whose samples are too many for memory (see Query.Windows), and knows no HTTP.
//
// # Labels
//
// The labels of a series of numbers are:
//
//   - __name__: its metric.
//   - source: the name of its source. A source with a tag job or instance, which remote write sets, and
//     the source "prometheus", to which remote write sends series without these labels, have no label
//     source.
//   - the tags of its source, and its own tags, which take precedence. A series with an own tag job or
//     instance has neither from its source.
//
// A tag named like a label that is set in another way (__name__; source, if that is a label) gets the
// prefix exported_, repeated until the name is free, as Prometheus does for scraped labels. Tags without
// a value are no labels. Series of strings are left out. A series of special values has the labels of the
// series of numbers beside it, so that both are one series.
//
// # Times and values
//
// Times are in microseconds in the store, and in milliseconds in PromQL: they are rounded down, and of
// several points of a series in one millisecond the last one counts. Of several series with the same
// labels, one with the lowest id has the sample of a time.
package promstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// Deps are the dependencies and limits of a Store.
type Deps struct {
	Series SeriesStore
	Points PointStore
	// Exclusions returns the points of series to exclude because they are deleted.
	Exclusions func(ctx context.Context, workspace uuid.UUID, series []registry.Series) (timeseries.Hidden, error)
	// MaxSeries is the maximum number of series of a query.
	MaxSeries int
	// MaxSamples is the maximum number of samples that a query reads.
	MaxSamples int
	// MaxTotalSamples is the maximum number of samples that concurrent queries read.
	MaxTotalSamples int64
}

// SeriesStore selects series; see storage/postgres/registry.
type SeriesStore interface {
	EachLabelledSeries(
		ctx context.Context, workspace uuid.UUID, narrowing *registry.LabelNarrowing,
		each func(*registry.LabelledSeries) (more bool),
	) error
	NumberMetrics(ctx context.Context, workspace uuid.UUID, limit int) ([]string, error)
}

// PointStore reads points; see storage/clickhouse/timeseries.
type PointStore interface {
	RawPoints(ctx context.Context, q timeseries.RawQuery) (found map[uint64]*timeseries.Points, more bool, err error)
	Exemplars(
		ctx context.Context, q timeseries.ExemplarQuery,
	) (found map[uint64][]timeseries.Exemplar, more bool, err error)
	Windows(ctx context.Context, q timeseries.WindowQuery) (found map[uint64][]timeseries.PieceWindow, err error)
}

// Store creates the storage of queries. It is safe for concurrent use.
type Store struct {
	Deps
	samples *budget.Budget // bounds the samples of concurrent queries
}

// New creates a Store.
func New(deps Deps) *Store { return &Store{Deps: deps, samples: budget.New(deps.MaxTotalSamples)} }

// SamplesUsed returns the number of samples that are reserved for queries in progress.
func (s *Store) SamplesUsed() int64 { return s.samples.Used() }

// SamplesRefused returns how often a query was refused because the samples of concurrent queries
// reached their limit.
func (s *Store) SamplesRefused() int64 { return s.samples.Refused() }

// Reserve reserves memory for a number of samples in the budget of concurrent queries. The caller must
// release it.
func (s *Store) Reserve(samples int64) (*budget.Share, error) {
	share, ok := s.samples.TryAcquire(samples)
	if !ok {
		return nil, errBusy()
	}
	return share, nil
}

// Query returns the storage for one query over a workspace. The limits apply to all selections of the
// query together. Points that are past their retention at the given time are left out.
func (s *Store) Query(workspace uuid.UUID, now time.Time) *Query {
	return &Query{store: s, workspace: workspace, now: now}
}

// Series calls each with the labels of every series that matches all matchers, in any order, until each
// returns false.
func (q *Query) Series(ctx context.Context, matchers []*labels.Matcher, each func(labels.Labels) (more bool)) error {
	return q.match(ctx, matchers, func(_ *registry.LabelledSeries, ls labels.Labels) bool { return each(ls) })
}

// Metrics returns the names of all metrics of the workspace, up to a limit.
func (q *Query) Metrics(ctx context.Context, limit int) ([]string, error) {
	return q.store.Series.NumberMetrics(ctx, q.workspace, limit)
}

func tooManySeries(limit int) error {
	return fault.Newf(fault.Invalid, "The query selects more than %d series: add label matchers, such as the metric's "+
		"name, job, instance or source", limit).With("limit", limit)
}

// errTooManySamples is the cause of the error of a query that reads more samples than its limit.
var errTooManySamples = errors.New("too many samples")

// IsTooManySamples reports whether a query failed because it reads more samples than its limit.
func IsTooManySamples(err error) bool { return errors.Is(err, errTooManySamples) }

func tooManySamples(limit int) error {
	return fault.Newf(fault.Invalid, "The query reads more than %d samples: ask for a shorter range, fewer series, or a "+
		"shorter window in brackets", limit).With("limit", limit).Because(errTooManySamples)
}

func errBusy() error {
	return fault.New(fault.Unavailable, "Too many large queries are running").After(time.Second)
}

// Query is the storage of one query. It implements storage.Queryable of Prometheus. It must not be used
// concurrently.
type Query struct {
	store     *Store
	workspace uuid.UUID
	now       time.Time
	series    int // number of series selected so far
	samples   int // number of samples read so far
	shares    []*budget.Share
}

// release returns the samples of the query to the budget.
func (q *Query) release() {
	for _, s := range q.shares {
		s.Release()
	}
	q.shares = nil
}

// match calls each for every series that matches all matchers.
func (q *Query) match(
	ctx context.Context, matchers []*labels.Matcher, each func(*registry.LabelledSeries, labels.Labels) (more bool),
) error {
	b := newLabelBuilder()
	err := q.store.Series.EachLabelledSeries(ctx, q.workspace, narrow(matchers), func(s *registry.LabelledSeries) bool {
		if !matchesMetric(matchers, s.Metric) {
			return true
		}
		ls := b.labels(s)
		if !MatchesAll(matchers, ls) {
			return true
		}
		return each(s, ls)
	})
	if err != nil {
		return fmt.Errorf("selecting series: %w", err)
	}
	return nil
}
