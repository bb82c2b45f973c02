package promql_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
)

// The random data are of two hours.
const (
	dataStart  = int64(1772323200000) // 2026-03-01T00:00:00Z
	dataLength = 2 * time.Hour
	scrape     = 15 * time.Second
)

// point is a sample of a series.
type point struct {
	ms    int64
	value float64
}

// randomSeries is a series of the random data, with stale markers, NaN and infinities.
type randomSeries struct {
	labels     labels.Labels
	points     []point
	histograms []prompb.Histogram // native
}

// generator creates series from a seed.
type generator struct {
	*rand.Rand
	list []randomSeries
}

// add adds a series with a value at each scrape. Some scrapes are missing, alone or for minutes.
func (g *generator) add(next func(i int) float64, namesAndValues ...string) {
	s := randomSeries{labels: labels.FromStrings(namesAndValues...)}
	missing := 0
	offset := g.Int64N(scrape.Milliseconds())
	for i := range int(dataLength / scrape) {
		v := next(i)
		switch {
		case missing > 0:
			missing--
			continue
		case g.IntN(40) == 0:
			missing = g.IntN(60)
			s.points = append(s.points, point{g.at(i, offset), math.Float64frombits(value.StaleNaN)})
			continue
		case g.IntN(50) == 0:
			continue
		}
		s.points = append(s.points, point{g.at(i, offset), v})
	}
	g.list = append(g.list, s)
}

// at returns the time of a scrape, with a jitter of milliseconds.
func (g *generator) at(i int, offset int64) int64 {
	return dataStart + int64(i)*scrape.Milliseconds() + offset + g.Int64N(20)
}

// counter returns the values of a counter that is sometimes reset.
func (g *generator) counter(rate float64) func(int) float64 {
	total := float64(g.IntN(1000))
	return func(int) float64 {
		if g.IntN(150) == 0 {
			total = 0
		}
		total += math.Floor(g.Float64() * rate)
		return total
	}
}

// gauge returns values around a mean, a NaN or an infinity now and then.
func (g *generator) gauge(mean, spread float64) func(int) float64 {
	v := mean
	return func(int) float64 {
		v += (g.Float64()-0.5)*spread + (mean-v)*0.05
		if g.IntN(200) == 0 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[g.IntN(3)]
		}
		return v
	}
}

// newData creates series of all kinds.
func newData(seed uint64) []randomSeries {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range 3 {
		instance := fmt.Sprintf("host-%d:9100", i)
		g.add(func(int) float64 { return float64(g.IntN(2)) }, "__name__", "up", "job", "node", "instance", instance)
		for _, method := range []string{"GET", "POST"} {
			for _, code := range []string{"200", "404", "500"} {
				g.add(g.counter(40), "__name__", "requests_total", "job", "api", "instance", instance, "method", method,
					"code", code)
			}
		}
		g.histogram(instance)
		g.native(instance, i)
		g.add(g.gauge(21, 2), "__name__", "temperature", "job", "house", "instance", instance, "room", []string{"a", "b", ""}[i])
		g.add(g.gauge(-5, 20), "__name__", "balance", "job", "a/b", "instance", instance)
		g.add(g.gauge(1e9, 1e8), "__name__", "memory_bytes", "instance", instance)
	}
	many := []string{"__name__", "many_labels"}
	for i := range 40 {
		many = append(many, fmt.Sprintf("label_%02d", i), fmt.Sprint(g.IntN(100)))
	}
	g.add(g.gauge(0, 1), many...)
	g.add(g.gauge(3, 1), "__name__", "öl temperature", "job", "house", "room.number", "7", "source", "x")
	g.add(g.counter(3), "__name__", "job:requests:rate5m", "job", "api")
	g.add(g.gauge(0, 1e-3), "__name__", "tiny", "job", "prometheus")
	return g.list
}

// histogram adds the series of a classic histogram.
func (g *generator) histogram(instance string) {
	bounds := []string{"0.1", "0.5", "1", "5", "+Inf"}
	counts := make([]float64, len(bounds))
	step := -1
	next := func(bucket int) func(int) float64 {
		return func(i int) float64 {
			if i != step || bucket == 0 {
				step = i
				counts[bucket] += float64(g.IntN(5 * (bucket + 1)))
			}
			if bucket > 0 {
				counts[bucket] = max(counts[bucket]+float64(g.IntN(5)), counts[bucket-1])
			}
			return counts[bucket]
		}
	}
	for i, le := range bounds {
		g.add(next(i), "__name__", "duration_seconds_bucket", "job", "api", "instance", instance, "le", le)
	}
}

// native adds a series of native histograms: of integers, of floats, or of gauges.
func (g *generator) native(instance string, kind int) {
	s := randomSeries{labels: labels.FromStrings("__name__", "latency_seconds", "job", "api", "instance", instance)}
	counts := make([]int64, 8)
	offset := g.Int64N(scrape.Milliseconds())
	for i := range int(dataLength / scrape) {
		h := &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
		if g.IntN(60) > 0 {
			h = g.nextHistogram(counts, int32(g.IntN(300)/299))
		}
		if kind == 2 {
			h.CounterResetHint = histogram.GaugeType
		}
		message := prompb.FromIntHistogram(g.at(i, offset), h)
		if kind == 1 {
			message = prompb.FromFloatHistogram(message.Timestamp, h.ToFloat(nil))
		}
		s.histograms = append(s.histograms, message)
	}
	g.list = append(g.list, s)
}

// nextHistogram adds observations to the counts of buckets, which are sometimes reset, and returns the histogram.
func (g *generator) nextHistogram(counts []int64, schema int32) *histogram.Histogram {
	if g.IntN(100) == 0 {
		clear(counts)
	}
	h := &histogram.Histogram{
		Schema: 2 - schema, ZeroThreshold: 1e-6,
		PositiveSpans: []histogram.Span{{Offset: -6, Length: 4}, {Offset: 2, Length: 3}},
	}
	before := int64(0)
	for i := range counts {
		counts[i] += g.Int64N(5)
		h.Count += uint64(counts[i])
		h.Sum += float64(counts[i]) * 0.3
		if i == 0 {
			h.ZeroCount = uint64(counts[i])
			continue
		}
		h.PositiveBuckets = append(h.PositiveBuckets, counts[i]-before)
		before = counts[i]
	}
	return h
}

// writeAll sends all samples to Livegraph, and waits until they are visible.
func (s *server) writeAll(t *testing.T, list []randomSeries) {
	t.Helper()
	var checkpoints []string
	for chunk := range slices.Chunk(timeSeries(list), 20) {
		sent := s.send(t, chunk)
		require.Zero(t, sent.Rejected)
		checkpoints = append(checkpoints, sent.Checkpoint)
	}
	for _, checkpoint := range checkpoints {
		s.await(t, checkpoint)
	}
}

// timeSeries returns series in the form of remote write.
func timeSeries(list []randomSeries) (request []prompb.TimeSeries) {
	for _, series := range list {
		out := prompb.TimeSeries{Labels: prompb.FromLabels(series.labels, nil), Histograms: series.histograms}
		for _, p := range series.points {
			out.Samples = append(out.Samples, prompb.Sample{Timestamp: p.ms, Value: p.value})
		}
		request = append(request, out)
	}
	return request
}

// decoded returns the histogram of a message: one of both.
func decoded(m prompb.Histogram) (*histogram.Histogram, *histogram.FloatHistogram) {
	if m.IsFloatHistogram() {
		return nil, m.ToFloatHistogram()
	}
	return m.ToIntHistogram(), nil
}

// openTSDB returns a database of Prometheus with all samples.
func openTSDB(t *testing.T, list []randomSeries) *tsdb.DB {
	t.Helper()
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(t.TempDir(), nil, nil, options, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	app := db.Appender(t.Context())
	// The engine gets the series in the order of their creation. It decides which of equal values topk selects.
	sorted := slices.SortedFunc(slices.Values(list), func(a, b randomSeries) int {
		return labels.Compare(a.labels, b.labels)
	})
	for _, series := range sorted {
		for _, p := range series.points {
			_, err := app.Append(0, series.labels, p.ms, p.value)
			require.NoError(t, err)
		}
		for _, m := range series.histograms {
			h, fh := decoded(m)
			_, err := app.AppendHistogram(0, series.labels, m.Timestamp, h, fh)
			require.NoError(t, err)
		}
	}
	require.NoError(t, app.Commit())
	return db
}
