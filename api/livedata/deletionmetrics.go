package livedata

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// outbox is what a sender knows of the deletions that are pending.
type outbox struct {
	pending, oldest atomic.Int64 // number, nanoseconds
	sent, failed    atomic.Int64
}

// Register makes what the sender measures known to the registerer; nil: nothing
// happens.
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
		"livegraph_deletions_pending", "Deleted sources that the log has not been told of yet, in the whole installation.",
		func() float64 { return float64(s.outbox.pending.Load()) },
	)
	gauge("livegraph_deletions_oldest_age_seconds", "Age of the oldest of them; 0 without any.",
		func() float64 { return time.Duration(s.outbox.oldest.Load()).Seconds() })
	counter("livegraph_deletions_sent_total", "Deleted sources that this process told the log of.", &s.outbox.sent)
	counter("livegraph_deletions_failures_total", "Tries to do so that failed; they are repeated.", &s.outbox.failed)
}

// look reads the backlog for the metrics. If that fails, the metrics keep their values.
func (s *DeletionSender) look(ctx context.Context) {
	if pending, oldest, err := s.store.DeletionBacklog(ctx); err == nil {
		s.outbox.pending.Store(pending)
		s.outbox.oldest.Store(int64(oldest))
	}
}
