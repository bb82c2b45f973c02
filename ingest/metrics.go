package ingest

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/ingest/resolve"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Outcomes of requests.
const (
	outcomeAccepted = "accepted" // all points
	outcomePartly   = "partly"   // some points were rejected
	outcomeRefused  = "refused"  // the content of the request was refused
	outcomeNoRoom   = "no_room"  // the memory limit was reached
	outcomeFailed   = "failed"   // a store or the log did not answer, or Kafka's buffer was full
)

var outcomes = []string{outcomeAccepted, outcomePartly, outcomeRefused, outcomeNoRoom, outcomeFailed}

// stage is a step of request processing that is timed.
type stage int

const (
	stageParse stage = iota
	stageResolve
	stageEncode
	stageProduce
	stages
)

var stageLabel = [stages]string{"parse", "resolve", "encode", "produce"}

// metrics are the metrics of a pipeline. They are updated once per request, never once per point.
type metrics struct {
	requests       map[string]prometheus.Counter // by outcome
	resolver       resolve.Metrics
	accepted       prometheus.Counter
	rejected       [rejection.Reasons]prometheus.Counter
	unacknowledged prometheus.Counter
	bytes          prometheus.Counter
	size           prometheus.Histogram
	stages         [stages]prometheus.Observer

	labelsHits, labelsMisses prometheus.Counter

	exemplarsAccepted, exemplarsDropped prometheus.Counter
}

func newMetrics(factory promauto.Factory) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	m := &metrics{
		requests: map[string]prometheus.Counter{},
		accepted: counter(
			"livegraph_ingest_points_accepted_total",
			"Total number of points reported as accepted. Kafka has acknowledged all of them.",
		),
		unacknowledged: counter("livegraph_ingest_points_unacknowledged_total",
			"Total number of points of requests that failed during the write. The log may or may not contain these points."),
		bytes: counter("livegraph_ingest_body_bytes_total", "Total size of decoded ingest bodies in bytes."),
		size: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_ingest_request_points", Help: "Number of points in a request, including rejected ones.",
			Buckets: prometheus.ExponentialBuckets(1, 10, 7),
		}),
	}
	requests := vec(
		"livegraph_ingest_requests_total",
		"Total number of ingest requests by outcome: accepted (all points), partly (some points were rejected), refused "+
			"(invalid content), no_room (memory limit reached), failed (error of a store or the log).",
		"outcome",
	)
	for _, outcome := range outcomes {
		m.requests[outcome] = requests.WithLabelValues(outcome)
	}
	rejected := vec("livegraph_ingest_points_rejected_total", "Total number of rejected points by reason.", "reason")
	for why := rejection.None + 1; why < rejection.Reasons; why++ {
		m.rejected[why] = rejected.WithLabelValues(why.MetricLabel())
	}
	durations := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name: "livegraph_ingest_stage_duration_seconds",
		Help: "Duration of the stages of an ingest request in seconds, by stage: parse, resolve (sources and series), " +
			"encode, produce (until Kafka's acknowledgement).",
		Buckets: prometheus.ExponentialBuckets(0.00005, 3, 12),
	}, []string{"stage"})
	for s, label := range stageLabel {
		m.stages[s] = durations.WithLabelValues(label)
	}
	lookups := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_ingest_cache_lookups_total",
		Help: "Total number of cache lookups by cache and result (hit, miss): series (one per series), sources (one per " +
			"request), labels (one per series as the request names it).",
	}, []string{"cache", "result"})
	m.resolver = resolve.Metrics{
		Created: counter(
			"livegraph_ingest_sources_created_total",
			"Total number of sources created because points were received for them, in formats that name their sources.",
		),
		SeriesHits:    lookups.WithLabelValues("series", "hit"),
		SeriesMisses:  lookups.WithLabelValues("series", "miss"),
		SourcesHits:   lookups.WithLabelValues("sources", "hit"),
		SourcesMisses: lookups.WithLabelValues("sources", "miss"),
	}
	exemplars := vec(
		"livegraph_ingest_exemplars_total",
		"Total number of exemplars by outcome: accepted, dropped (labels that are too long or not valid, no valid time, or "+
			"a series that is not accepted).",
		"outcome",
	)
	m.exemplarsAccepted = exemplars.WithLabelValues(outcomeAccepted)
	m.exemplarsDropped = exemplars.WithLabelValues("dropped")
	m.labelsHits, m.labelsMisses = lookups.WithLabelValues("labels", "hit"), lookups.WithLabelValues("labels", "miss")
	return m
}

// registerGauges registers the gauges whose values are read on each scrape.
func (p *Pipeline) registerGauges(factory promauto.Factory) {
	gauge := func(name, help string, labels prometheus.Labels, read func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read)
	}
	gauge("livegraph_ingest_in_flight_bytes", "Approximate memory used by ingest requests in progress, in bytes.", nil,
		func() float64 { return float64(p.inFlight.Used()) })
	gauge(
		"livegraph_ingest_in_flight_limit_bytes",
		"Maximum memory for ingest requests in progress in bytes. When it is reached, requests are answered with 503.",
		nil,
		func() float64 { return float64(p.inFlight.Limit()) },
	)
	const entries = "livegraph_ingest_cache_entries"
	const entriesHelp = "Number of cached series, sources and labels, by cache. A label is a series as requests name it."
	gauge(
		entries, entriesHelp, prometheus.Labels{"cache": "series"}, func() float64 { return float64(p.resolver.SeriesLen()) },
	)
	gauge(
		entries, entriesHelp, prometheus.Labels{"cache": "sources"},
		func() float64 { return float64(p.resolver.SourcesLen()) },
	)
	gauge(entries, entriesHelp, prometheus.Labels{"cache": "labels"}, func() float64 { return float64(p.labels.Len()) })
	const limit, limitHelp = "livegraph_ingest_cache_limit", "Maximum number of cached series and sources, by cache."
	gauge(limit, limitHelp, prometheus.Labels{"cache": "series"}, func() float64 { return float64(p.deps.CacheSize) })
	gauge(limit, limitHelp, prometheus.Labels{"cache": "sources"}, func() float64 { return resolve.MaxCachedSources })
}

// timer measures the stages of a request, one after the other.
type timer struct {
	metrics *metrics
	began   time.Time
}

func (m *metrics) timer() timer { return timer{metrics: m, began: time.Now()} }

// done records the duration of stage s and starts the next stage.
func (t *timer) done(s stage) {
	now := time.Now()
	t.metrics.stages[s].Observe(now.Sub(t.began).Seconds())
	t.began = now
}

// count records a completed request.
func (m *metrics) count(w *work, result *Result, err error) {
	b := w.batch
	m.size.Observe(float64(b.Points))
	m.labelsHits.Add(float64(b.Labels.Hits))
	m.labelsMisses.Add(float64(b.Labels.Misses))
	if err == nil {
		m.exemplarsAccepted.Add(float64(result.Exemplars))
		m.exemplarsDropped.Add(float64(b.Exemplars.Dropped))
	}
	for why := rejection.None + 1; why < rejection.Reasons; why++ {
		if n := b.Rejected.Count(why); n > 0 {
			m.rejected[why].Add(float64(n))
		}
	}
	outcome := outcomeAccepted
	switch {
	case err == nil && result.Rejected > 0:
		outcome = outcomePartly
	case fault.Is(err, fault.Malformed), fault.Is(err, fault.Invalid), fault.Is(err, fault.TooLarge):
		outcome = outcomeRefused
	case err != nil:
		outcome = outcomeFailed
	}
	m.requests[outcome].Inc()
	switch {
	case err == nil:
		m.accepted.Add(float64(result.Accepted))
	case outcome == outcomeFailed && result.Accepted > 0:
		m.unacknowledged.Add(float64(result.Accepted))
	}
}
