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
	gauge("livegraph_command_waiters", "Number of commands and batches that wait for their outcome.", func() float64 {
		return float64(w.count())
	})
	gauge(
		"livegraph_command_waiters_limit",
		"Maximum number of commands and batches that may wait for their outcome. When it is reached, requests are answered "+
			"with 503.",
		func() float64 {
			return maxWaiting
		},
	)
	gauge(
		"livegraph_command_replies_connected",
		"1 if this process receives replies through Redis, otherwise 0. At 0, outcomes are read from Postgres.",
		func() float64 {
			if w.replies.Connected() {
				return 1
			}
			return 0
		},
	)
	counter("livegraph_command_replies_total", "Total number of outcomes received through Redis.", &w.repliesReceived)
	counter(
		"livegraph_command_lookups_total",
		"Total number of outcomes that were read from Postgres, because they are large or no reply was received.", &w.lookups,
	)
	counter(
		"livegraph_command_timeouts_total",
		"Total number of commands and batches answered with 504 because they were not decided in time.",
		&w.timeouts,
	)
}

func (w *Waiter) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting.Len()
}
