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
		Help: "Total number of requests checked against their workspace's plan, by what decided: redis, memory (Redis had " +
			"just reported to this process that the limit is reached), process (this process alone, because Redis does not " +
			"respond), none (the workspace has no limits).",
	}, []string{"by"})
	refused := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_ratelimit_refused_total",
		Help: "Total number of requests answered with 429 because the limit of their workspace's plan was reached, by " +
			"window.",
	}, []string{"window"})
	return metrics{
		unlimited: decisions.WithLabelValues("none"), byRedis: decisions.WithLabelValues("redis"),
		byMemory: decisions.WithLabelValues("memory"), byProcess: decisions.WithLabelValues("process"),
		refused: map[string]prometheus.Counter{Minute: refused.WithLabelValues(Minute), Day: refused.WithLabelValues(Day)},
		failures: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_ratelimit_redis_failures_total",
			Help: "Total number of times that Redis did not count a request because it was unavailable, too slow or returned " +
				"an error.",
		}),
		behind: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_ratelimit_redis_behind_total",
			Help: "Total number of times that Redis had counted fewer requests in a window than this process, because Redis " +
				"had lost data or was unavailable. Counting continues from the value of the process.",
		}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_ratelimit_redis_duration_seconds", Help: "Duration of counting a request in Redis in seconds.",
			Buckets: durationBuckets,
		}),
	}
}
