package livedata

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// deletionStats are the measurements of a sender.
type deletionStats struct {
	pending, oldest atomic.Int64 // number; age in nanoseconds
	sent, failed    atomic.Int64
}

// Register registers the metrics of the sender; with nil it does nothing.
func (s *DeletionSender) Register(registerer prometheus.Registerer) {
	factory := promauto.With(registerer)
	gauge := func(name, help string, read func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	counter := func(name, help string, value *atomic.Int64) {
		factory.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 {
			return float64(value.Load())
		})
	}
	gauge(
		"livegraph_deletions_pending",
		"Number of deleted sources in the whole installation that are not yet written to the log.",
		func() float64 { return float64(s.stats.pending.Load()) },
	)
	gauge(
		"livegraph_deletions_oldest_age_seconds",
		"Age of the oldest deletion of a source that is not yet written to the log, in seconds, 0 if there is none.",
		func() float64 { return time.Duration(s.stats.oldest.Load()).Seconds() },
	)
	counter(
		"livegraph_deletions_sent_total",
		"Total number of deleted sources that this process wrote to the log.",
		&s.stats.sent,
	)
	counter(
		"livegraph_deletions_failures_total",
		"Total number of failed attempts to write deleted sources to the log. They are retried.",
		&s.stats.failed,
	)
}

// refreshBacklog reads the backlog for the metrics. If that fails, the metrics keep their values.
func (s *DeletionSender) refreshBacklog(ctx context.Context) {
	if pending, oldest, err := s.store.DeletionBacklog(ctx); err == nil {
		s.stats.pending.Store(pending)
		s.stats.oldest.Store(int64(oldest))
	}
}
