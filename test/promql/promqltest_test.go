package promql_test

import (
	"context"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/stretchr/testify/require"
)

// comparePromqltest runs the tests of Prometheus' own PromQL. It writes the samples that they load to one
// workspace per state of their data, and compares the answers to all queries that they evaluate, errors included,
// with those of a Prometheus with default settings: the tests expect experimental features, so their own
// expectations only apply to the engine that they bring.
func (s *server) comparePromqltest(t *testing.T) {
	r := &recorder{
		Engine: promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery), oracle: newEngine(), t: t,
	}
	promqltest.RunBuiltinTestsWithStorage(namedByFile{t}, r, func(t testing.TB) storage.Storage {
		return &recordedStorage{
			TestStorage: teststorage.New(t, withStartTimes), withoutStarts: teststorage.New(t),
			current: &dataset{file: path.Base(t.Name())},
		}
	})
	s.writeDatasets(t, r.datasets)
	compared, answered, failed, points := 0, 0, 0, 0
	for _, d := range r.datasets {
		for _, q := range d.queries {
			got := d.server.ask(t, q.evaluation)
			n, err := got.matches(q.evaluation, q.want)
			if err != nil {
				t.Errorf("%s: %s: %v", d.file, q.evaluation, err)
			}
			points += n
			compared++
			switch {
			case q.want.Err != nil:
				failed++
			case n > 0:
				answered++
			}
		}
	}
	t.Logf(
		"%d queries of %d datasets, %d with a result, %d with an error, %d points", compared, len(r.datasets), answered,
		failed, points,
	)
	require.Greater(t, compared, 14_000)
	require.Greater(t, answered, compared/2)
}

// withStartTimes sets the options of the storage that the tests expect.
func withStartTimes(o *tsdb.Options) {
	o.EnableSTStorage, o.EnableHistogramSTEncoding, o.FloatChunkEncoding = true, true, chunkenc.EncXOR2
}

// namedByFile names the tests by their files, without the folder.
type namedByFile struct{ *testing.T }

// Run implements promqltest.TBRun.
func (n namedByFile) Run(name string, test func(*testing.T)) bool { return n.T.Run(path.Base(name), test) }

// dataset is the samples of a test at the time of a query.
type dataset struct {
	file    string
	series  []randomSeries
	queries []recordedQuery
	server  *server // the client of the workspace that has the samples
}

// recordedQuery is a query with the answer of Prometheus.
type recordedQuery struct {
	evaluation
	want *promql.Result
}

// recorder is the engine of the tests, and records the queries that it evaluates.
type recorder struct {
	*promql.Engine
	t        *testing.T
	oracle   *promql.Engine
	datasets []*dataset
}

// NewInstantQuery implements promql.QueryEngine.
func (r *recorder) NewInstantQuery(
	ctx context.Context, data storage.Queryable, options promql.QueryOpts, text string, at time.Time,
) (promql.Query, error) {
	r.record(data.(*recordedStorage), evaluation{text: text, to: at.UnixMilli()})
	return r.Engine.NewInstantQuery(ctx, data, options, text, at)
}

// NewRangeQuery implements promql.QueryEngine.
func (r *recorder) NewRangeQuery(
	ctx context.Context, data storage.Queryable, options promql.QueryOpts, text string, from, to time.Time,
	step time.Duration,
) (promql.Query, error) {
	r.record(data.(*recordedStorage), evaluation{text, from.UnixMilli(), to.UnixMilli(), step})
	return r.Engine.NewRangeQuery(ctx, data, options, text, from, to, step)
}

// record evaluates a query over the samples of a test, without their start times.
func (r *recorder) record(s *recordedStorage, e evaluation) {
	d := s.current
	if len(d.queries) == 0 {
		r.datasets = append(r.datasets, d)
	}
	if slices.ContainsFunc(d.queries, func(q recordedQuery) bool { return q.evaluation == e }) {
		return
	}
	d.queries = append(d.queries, recordedQuery{e, e.by(r.t, r.oracle, sortedStorage{s.withoutStarts})})
}

// sortedStorage returns series by their labels. Without it, a database of Prometheus returns them in the order of
// their creation, in which the tests load them by chance, and which decides which of equal values topk selects.
type sortedStorage struct{ storage.Storage }

// Querier implements storage.Queryable.
func (s sortedStorage) Querier(from, to int64) (storage.Querier, error) {
	querier, err := s.Storage.Querier(from, to)
	return sortedQuerier{querier}, err
}

type sortedQuerier struct{ storage.Querier }

// Select implements storage.Querier.
func (q sortedQuerier) Select(
	ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	return q.Querier.Select(ctx, true, hints, matchers...)
}

// recordedStorage is the storage of a test. It also has the samples without their start times, as Livegraph has them.
type recordedStorage struct {
	*teststorage.TestStorage
	withoutStarts *teststorage.TestStorage
	current       *dataset
}

// AppenderV2 implements storage.Storage.
func (s *recordedStorage) AppenderV2(ctx context.Context) storage.AppenderV2 {
	next := &dataset{file: s.current.file}
	for _, series := range s.current.series {
		next.series = append(next.series, randomSeries{
			series.labels, slices.Clone(series.points), slices.Clone(series.histograms),
		})
	}
	return &recordedAppender{s.TestStorage.AppenderV2(ctx), s.withoutStarts.AppenderV2(ctx), s, next}
}

type recordedAppender struct {
	storage.AppenderV2
	withoutStarts storage.AppenderV2
	storage       *recordedStorage
	next          *dataset
}

// Append implements storage.AppenderV2.
func (a *recordedAppender) Append(
	ref storage.SeriesRef, ls labels.Labels, st, ms int64, v float64, h *histogram.Histogram,
	fh *histogram.FloatHistogram, options storage.AppendV2Options,
) (storage.SeriesRef, error) {
	if _, err := a.withoutStarts.Append(0, ls, 0, ms, v, h, fh, options); err != nil {
		return 0, err
	}
	series := a.next.add(ls)
	switch {
	case h != nil:
		series.histograms = append(series.histograms, prompb.FromIntHistogram(ms, h))
	case fh != nil:
		series.histograms = append(series.histograms, prompb.FromFloatHistogram(ms, fh))
	default:
		series.points = append(series.points, point{ms, v})
	}
	return a.AppenderV2.Append(ref, ls, st, ms, v, h, fh, options)
}

// Commit implements storage.AppenderTransaction.
func (a *recordedAppender) Commit() error {
	if err := a.withoutStarts.Commit(); err != nil {
		return err
	}
	a.storage.current = a.next
	return a.AppenderV2.Commit()
}

// Rollback implements storage.AppenderTransaction.
func (a *recordedAppender) Rollback() error {
	if err := a.withoutStarts.Rollback(); err != nil {
		return err
	}
	return a.AppenderV2.Rollback()
}

// add returns the series with these labels, which it adds if there is none.
func (d *dataset) add(ls labels.Labels) *randomSeries {
	i := slices.IndexFunc(d.series, func(s randomSeries) bool { return labels.Equal(s.labels, ls) })
	if i < 0 {
		i = len(d.series)
		d.series = append(d.series, randomSeries{labels: ls})
	}
	return &d.series[i]
}

// writeDatasets writes each dataset to its own workspace.
func (s *server) writeDatasets(t *testing.T, list []*dataset) {
	t.Helper()
	checkpoints := make([]string, len(list))
	for i, client := range s.newWorkspaces(t, len(list)) {
		d := list[i]
		d.server = client
		if len(d.series) == 0 {
			continue
		}
		sent := client.send(t, timeSeries(d.series))
		require.Zero(t, sent.Rejected, "%s: %v", d.file, d.series)
		checkpoints[i] = sent.Checkpoint
	}
	for i, d := range list {
		if len(d.series) > 0 {
			d.server.await(t, checkpoints[i])
		}
	}
}
