package commands

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// register registers the metrics of the Waiter.
func (a *api) register(registerer prometheus.Registerer) {
	factory := promauto.With(registerer)
	gauge := func(name, help string, read func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	counter := func(name, help string, value *atomic.Int64) {
		factory.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 {
			return float64(value.Load())
		})
	}
	w := a.Waiter
	gauge("livegraph_command_waiters", "Commands and batches whose outcome is waited for.", func() float64 {
		return float64(w.count())
	})
	gauge("livegraph_command_waiters_limit", "Most that may be waited for; beyond, 503.", func() float64 {
		return maxWaiting
	})
	gauge(
		"livegraph_command_replies_connected",
		"1 while this process hears replies by Redis, else 0; then outcomes are looked up in Postgres.",
		func() float64 {
			if w.replies.Connected() {
				return 1
			}
			return 0
		},
	)
	counter("livegraph_command_replies_total", "Outcomes that came by Redis.", &w.repliesReceived)
	counter(
		"livegraph_command_lookups_total",
		"Outcomes that were looked up in Postgres, because they are large or no reply came.", &w.lookups,
	)
	counter(
		"livegraph_command_timeouts_total", "Commands and batches answered 504 because they were not decided in time.",
		&w.timeouts,
	)
}

func (w *Waiter) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting.Len()
}
