package query

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// register registers the metrics of queries.
func (a *api) register(registerer prometheus.Registerer) {
	factory := promauto.With(registerer)
	gauge := func(name, help string, read func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	gauge("livegraph_query_values", "Number of values reserved for the responses of queries in progress.",
		func() float64 { return float64(a.values.Used()) })
	gauge(
		"livegraph_query_values_limit",
		"Maximum number of values reserved for the responses of queries in progress. When it is reached, queries are "+
			"answered with 503.",
		func() float64 {
			return maxValues
		},
	)
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_query_refused_total",
		Help: "Total number of queries answered with 503 because the limit of values of concurrent queries was reached.",
	}, func() float64 { return float64(a.values.Refused()) })
	gauge("livegraph_query_admitted", "Number of queries being executed in the stores.", func() float64 {
		return float64(a.admission.running.Load())
	})
	gauge(
		"livegraph_query_admitted_limit",
		"Maximum number of queries admitted at the same time. Under load, it is the number of queries that complete within "+
			"two seconds.",
		func() float64 { return float64(a.admission.limit.Load()) },
	)
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_query_overload_refusals_total",
		Help: "Total number of queries answered immediately with 503 because the queries ahead of them would have delayed " +
			"them too long.",
	}, func() float64 { return float64(a.admission.refused.Load()) })
	gauge("livegraph_query_checkpoint_waiters", "Number of queries that wait for their checkpoint to become visible.",
		func() float64 { return float64(a.checkpointWaiters.Load()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_query_checkpoint_timeouts_total",
		Help: "Total number of queries answered with 504 because their checkpoint did not become visible in time.",
	}, func() float64 { return float64(a.checkpointTimeouts.Load()) })
}
