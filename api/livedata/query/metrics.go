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
	gauge("livegraph_query_values", "Values that the answers of queries under way may hold together.",
		func() float64 { return float64(a.values.Used()) })
	gauge("livegraph_query_values_limit", "Most values that they may hold; beyond, 503.", func() float64 {
		return maxValues
	})
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_query_refused_total", Help: "Queries answered 503 because those under way hold too much.",
	}, func() float64 { return float64(a.values.Refused()) })
	gauge("livegraph_query_admitted", "Queries that are with the stores.", func() float64 {
		return float64(a.admission.running.Load())
	})
	gauge(
		"livegraph_query_admitted_limit",
		"Most queries that are let in at a time: while there are many, as many as are answered in two seconds.",
		func() float64 { return float64(a.admission.limit.Load()) },
	)
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_query_overload_refusals_total",
		Help: "Queries answered 503 at once because with those before them they would have taken too long.",
	}, func() float64 { return float64(a.admission.refused.Load()) })
	gauge("livegraph_query_checkpoint_waiters", "Queries that wait for their checkpoint to become visible.",
		func() float64 { return float64(a.checkpointWaiters.Load()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_query_checkpoint_timeouts_total",
		Help: "Queries answered 504 because their checkpoint did not become visible in time.",
	}, func() float64 { return float64(a.checkpointTimeouts.Load()) })
}
