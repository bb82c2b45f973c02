package webhooks

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// queueMetrics count events.
type queueMetrics struct{ queued, dropped prometheus.Counter }

func newQueueMetrics(registerer prometheus.Registerer) *queueMetrics {
	factory := promauto.With(registerer)
	return &queueMetrics{
		queued: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_webhooks_queued_total", Help: "Total number of deliveries of events that were queued for webhooks.",
		}),
		dropped: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_webhooks_dropped_total",
			Help: "Total number of events that were not queued, because too many were pending or the payload was too large.",
		}),
	}
}

// metrics are the metrics of a Runner.
type metrics struct {
	attempts *prometheus.CounterVec
	duration prometheus.Histogram
	inFlight prometheus.Gauge
	disabled prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	m := &metrics{
		attempts: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_webhooks_attempts_total",
			Help: "Total number of attempts to deliver an event to a webhook, by outcome: delivered, retried, failed (it was " +
				"the last one).",
		}, []string{"outcome"}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_webhooks_attempt_seconds", Help: "Duration of attempts to deliver an event to a webhook.",
			Buckets: prometheus.ExponentialBuckets(0.01, 3, 8),
		}),
		inFlight: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_webhooks_in_flight", Help: "Number of deliveries that this process sends at this time.",
		}),
		disabled: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_webhooks_disabled_total",
			Help: "Total number of webhooks that were disabled because the receiver answered 410 Gone.",
		}),
	}
	for _, state := range []hooks.State{hooks.Pending, hooks.Delivered, hooks.Failed} {
		m.attempts.WithLabelValues(outcome(state)) // exists from the start
	}
	return m
}
