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
	gauge("livegraph_point_streams", "Number of open streams of points.", func() float64 { return float64(h.Streams()) })
	gauge(
		"livegraph_point_streams_limit",
		"Maximum number of open streams of points. When it is reached, requests are answered with 503.",
		func() float64 {
			return float64(h.deps.Limits.Streams)
		},
	)
	gauge(
		"livegraph_point_streams_buffered_bytes", "Size of the points buffered for the readers of streams, in bytes.",
		func() float64 { return float64(h.budget.used.Load()) },
	)
	gauge(
		"livegraph_point_streams_buffered_limit_bytes",
		"Maximum size of the points buffered for the readers of streams, in bytes. The streams with the largest buffers "+
			"are dropped before it is reached.",
		func() float64 { return float64(h.budget.limit) },
	)
	m := &metrics{
		ended: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_point_streams_dropped_total",
			Help: "Total number of dropped streams of points by reason: slow_reader (the client reads too slowly), " +
				"log_changed (the topic was replaced or has more partitions).",
		}, []string{"reason"}),
		resumed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_point_streams_resumed_total",
			Help: "Total number of streams of points reopened with a position by outcome: resumed (missed points are read " +
				"again), or the reason why not: trimmed, log_changed, too_far_behind.",
		}, []string{"outcome"}),
		refused: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_point_streams_refused_total",
			Help: "Total number of streams of points refused because too many are open.",
		}),
		points: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_point_streams_points_total", Help: "Total number of points sent to the readers of streams.",
		}),
		records: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_point_streams_skipped_records_total",
			Help: "Total number of records of the topic points that were read for streams and not delivered to any, by reason " +
				"(unwanted, unreadable).",
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
