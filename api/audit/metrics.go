package audit

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/internal/platform/spool"
)

// Reasons of refused requests.
const (
	refusedFull    = "full"
	refusedFailing = "failing"
)

type metrics struct {
	duration prometheus.Histogram
	failed   prometheus.Counter
	refused  *prometheus.CounterVec
	unknown  prometheus.Counter
	folded   prometheus.Counter
	sent     prometheus.Counter
	unsent   prometheus.Counter
	lastSent prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer, s *spool.Spool) *metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string, read func() int64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(read()) })
	}
	m := &metrics{
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "livegraph_audit_append_duration_seconds",
			Help:    "Duration of writing an audit record to the spool in seconds. The response waits for it.",
			Buckets: []float64{0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1, 1},
		}),
		failed: counter(
			"livegraph_audit_append_failures_total",
			"Total number of audit records that could not be written to the spool. Their requests were answered with 503.",
		),
		refused: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_audit_refused_requests_total",
			Help: "Total number of requests with a key that were answered with 503 because they could not be recorded, by " +
				"reason: full (the spool is full), failing (the spool cannot be written).",
		}, []string{"reason"}),
		unknown: counter(
			"livegraph_audit_unknown_requests_total",
			"Total number of requests without a known key. They are counted by address and not recorded individually.",
		),
		folded: counter(
			"livegraph_audit_folded_requests_total",
			"Total number of requests with a key that were recorded together with similar ones, because a key or an address "+
				"had too many refusals.",
		),
		sent: counter("livegraph_audit_sent_records_total", "Total number of audit records acknowledged by Kafka."),
		unsent: counter(
			"livegraph_audit_send_failures_total",
			"Total number of failed attempts to send audit records to Kafka. The records remain in the spool.",
		),
		lastSent: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_audit_last_sent_timestamp_seconds",
			Help: "Unix timestamp of the last acknowledgement of audit records by Kafka, 0 if there was none yet.",
		}),
	}
	for _, reason := range []string{refusedFull, refusedFailing} {
		m.refused.WithLabelValues(reason)
	}
	gauge(
		"livegraph_audit_spool_pending_bytes",
		"Size of the audit records in the spool that are not yet sent to Kafka, in bytes.",
		s.Pending,
	)
	gauge(
		"livegraph_audit_spool_limit_bytes",
		"Maximum size of the audit records waiting in the spool in bytes. When it is reached, requests with a key are "+
			"answered with 503.",
		s.Limit,
	)
	gauge("livegraph_audit_spool_bytes", "Size of the spool on disk in bytes.", s.Stored)
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_audit_spool_damaged_bytes_total",
		Help: "Total number of bytes of audit records that could not be read back from the spool. These records are lost.",
	}, func() float64 { return float64(s.Damaged()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_audit_spool_sync_failures_total",
		Help: "Total number of failed syncs of the spool, which indicate a failing disk. The data that was not synced was " +
			"written again.",
	}, func() float64 { return float64(s.SyncFailures()) })
	return m
}
