package promql_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

// fixture contains series in memory that Prometheus's engine can query.
type fixture struct {
	engine *promql.Engine
	series map[string]storage.Series
}

// newFixture creates a fixture from series in Prometheus's notation, with one sample per minute.
func newFixture(t *testing.T, text string) *fixture {
	t.Helper()
	w := &fixture{series: map[string]storage.Series{}, engine: promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), MaxSamples: 1_000_000, Timeout: time.Minute, EnableAtModifier: true,
	})}
	w.replace(t, text)
	return w
}

// replace adds series or replaces existing ones.
func (w *fixture) replace(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(line))
		require.NoError(t, err, line)
		var samples []chunks.Sample
		for minute, v := range values {
			if !v.Omitted {
				samples = append(samples, sample{at: int64(minute) * time.Minute.Milliseconds(), value: v.Value})
			}
		}
		w.series[name.String()] = storage.NewListSeries(name, samples)
	}
}

// remove removes all series of a metric.
func (w *fixture) remove(metric string) {
	for name, series := range w.series {
		if series.Labels().Get("__name__") == metric {
			delete(w.series, name)
		}
	}
}

// query evaluates an expression at the given time after the first sample.
func (w *fixture) query(t *testing.T, expression string, after time.Duration) promql.Vector {
	t.Helper()
	q, err := w.engine.NewInstantQuery(t.Context(), w, nil, expression, time.UnixMilli(0).Add(after))
	require.NoError(t, err, expression)
	defer q.Close()
	result := q.Exec(t.Context())
	require.NoError(t, result.Err, expression)
	require.Empty(t, result.Warnings, expression)
	vector, err := result.Vector()
	require.NoError(t, err, expression)
	return vector
}

// Querier implements storage.Queryable.
func (w *fixture) Querier(_, _ int64) (storage.Querier, error) { return querier{w}, nil }

type querier struct{ fixture *fixture }

// Select implements storage.Querier.
func (q querier) Select(
	_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	set := &seriesSet{index: -1}
	for _, series := range q.fixture.series {
		matches := true
		for _, m := range matchers {
			matches = matches && m.Matches(series.Labels().Get(m.Name))
		}
		if matches {
			set.series = append(set.series, series)
		}
	}
	return set
}

// LabelValues implements storage.LabelQuerier.
func (querier) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.LabelQuerier.
func (querier) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.LabelQuerier.
func (querier) Close() error { return nil }

type seriesSet struct {
	series []storage.Series
	index  int
}

func (s *seriesSet) Next() bool                        { s.index++; return s.index < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.index] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// sample implements chunks.Sample for a plain number.
type sample struct {
	at    int64
	value float64
}

func (s sample) ST() int64                     { return 0 }
func (s sample) T() int64                      { return s.at }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
