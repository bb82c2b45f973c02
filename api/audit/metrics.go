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
			Help:    "Time to write an audit record into the spool, which its answer waits for.",
			Buckets: []float64{0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1, 1},
		}),
		failed: counter(
			"livegraph_audit_append_failures_total",
			"Audit records that could not be written into the spool; their requests were answered 503.",
		),
		refused: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_audit_refused_requests_total",
			Help: "Requests with a key that were answered 503 because their use could not be recorded: the spool is full, or " +
				"failing (it cannot be written).",
		}, []string{"reason"}),
		unknown: counter(
			"livegraph_audit_unknown_requests_total",
			"Requests without a known key. They are not recorded singly, but counted by address.",
		),
		folded: counter(
			"livegraph_audit_folded_requests_total",
			"Uses of keys that were recorded together with others that are alike, because a key or an address had too many "+
				"refusals.",
		),
		sent: counter("livegraph_audit_sent_records_total", "Audit records that Kafka has acknowledged."),
		unsent: counter(
			"livegraph_audit_send_failures_total",
			"Times that audit records could not be sent to Kafka and stayed in the spool.",
		),
		lastSent: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_audit_last_sent_timestamp_seconds",
			Help: "When audit records were last acknowledged by Kafka, seconds since the Unix epoch; 0: not yet.",
		}),
	}
	for _, reason := range []string{refusedFull, refusedFailing} {
		m.refused.WithLabelValues(reason)
	}
	gauge("livegraph_audit_spool_pending_bytes", "Bytes of audit records that wait in the spool for Kafka.", s.Pending)
	gauge(
		"livegraph_audit_spool_limit_bytes", "Most bytes that may wait; beyond, requests with a key are answered 503.",
		s.Limit,
	)
	gauge("livegraph_audit_spool_bytes", "Bytes of the spool on disk.", s.Stored)
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_audit_spool_damaged_bytes_total",
		Help: "Bytes of audit records that could not be read back from the spool: data loss.",
	}, func() float64 { return float64(s.Damaged()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_audit_spool_sync_failures_total",
		Help: "Syncs of the spool that failed: its disk is failing. What they did not bring to the disk was written again.",
	}, func() float64 { return float64(s.SyncFailures()) })
	return m
}
