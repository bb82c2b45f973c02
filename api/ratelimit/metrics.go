package ratelimit

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// durationBuckets are in seconds. A round trip to a Redis nearby takes a fraction of a
// millisecond.
var durationBuckets = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25}

// metrics are the metrics of a Limiter.
type metrics struct {
	unlimited, byRedis, byMemory, byProcess prometheus.Counter
	refused                                 map[string]prometheus.Counter // by window
	failures, behind                        prometheus.Counter
	duration                                prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) metrics {
	factory := promauto.With(registerer)
	decisions := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_ratelimit_requests_total",
		Help: "Requests held against their workspace's plan, by who decided: redis; memory (this process had just been " +
			"told that nothing is left); process (alone, as Redis does not answer); none (the workspace has no limits).",
	}, []string{"by"})
	refused := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_ratelimit_refused_total",
		Help: "Requests answered 429 because their workspace's plan has none left, by window.",
	}, []string{"window"})
	return metrics{
		unlimited: decisions.WithLabelValues("none"), byRedis: decisions.WithLabelValues("redis"),
		byMemory: decisions.WithLabelValues("memory"), byProcess: decisions.WithLabelValues("process"),
		refused: map[string]prometheus.Counter{Minute: refused.WithLabelValues(Minute), Day: refused.WithLabelValues(Day)},
		failures: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_ratelimit_redis_failures_total",
			Help: "Times that Redis did not count a request: it was away, too slow or refused.",
		}),
		behind: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_ratelimit_redis_behind_total",
			Help: "Times that Redis had counted fewer requests of a window than this process knew of, because it had lost " +
				"data or was away; it goes on from what the process knows.",
		}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_ratelimit_redis_duration_seconds", Help: "Time in which Redis counted a request.",
			Buckets: durationBuckets,
		}),
	}
}
