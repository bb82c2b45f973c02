package tail

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the metrics of a Hub.
type metrics struct {
	ended   *prometheus.CounterVec
	resumed *prometheus.CounterVec
	refused prometheus.Counter
	points  prometheus.Counter
	records *prometheus.CounterVec
}

// Reasons for which a record was skipped.
const (
	recordUnwanted   = "unwanted"
	recordUnreadable = "unreadable"
)

func newMetrics(h *Hub, registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	gauge := func(name, help string, read func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	gauge("livegraph_point_streams", "Open streams of points.", func() float64 { return float64(h.Streams()) })
	gauge("livegraph_point_streams_limit", "Most streams of points that may be open; beyond, 503.", func() float64 {
		return float64(h.deps.Limits.Streams)
	})
	gauge(
		"livegraph_point_streams_buffered_bytes", "Bytes of points that wait for the readers of streams.",
		func() float64 { return float64(h.budget.used.Load()) },
	)
	gauge(
		"livegraph_point_streams_buffered_limit_bytes",
		"Most bytes that may wait; those who hold the most are dropped before.",
		func() float64 { return float64(h.budget.limit) },
	)
	m := &metrics{
		ended: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_point_streams_dropped_total",
			Help: "Streams of points that were dropped: slow_reader (it does not take what is there for it), log_changed (the " +
				"topic is another one or has more partitions).",
		}, []string{"reason"}),
		resumed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_point_streams_resumed_total",
			Help: "Streams of points that came back with a position: resumed (what was missed is read again), or why it was " +
				"not: trimmed, log_changed, too_far_behind.",
		}, []string{"outcome"}),
		refused: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_point_streams_refused_total",
			Help: "Streams of points that were refused because too many are open.",
		}),
		points: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_point_streams_points_total", Help: "Points sent to the readers of streams.",
		}),
		records: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_point_streams_skipped_records_total",
			Help: "Records of topic points that were read for streams and had nothing for any of them: unwanted, or unreadable.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{SlowReader, LogChanged} {
		m.ended.WithLabelValues(reason)
	}
	for _, outcome := range []string{resumed, Trimmed, LogChanged, TooFarBehind} {
		m.resumed.WithLabelValues(outcome)
	}
	for _, reason := range []string{recordUnwanted, recordUnreadable} {
		m.records.WithLabelValues(reason)
	}
	return m
}

func (m *metrics) dropped(reason string) { m.ended.WithLabelValues(reason).Inc() }

func (m *metrics) skipped(err error) {
	if err != nil {
		m.records.WithLabelValues(recordUnreadable).Inc()
		return
	}
	m.records.WithLabelValues(recordUnwanted).Inc()
}
