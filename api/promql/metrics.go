package promql

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// register registers the metrics of queries.
func (a *api) register(registerer prometheus.Registerer) {
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_promql_queries", Help: "Number of PromQL queries being evaluated.",
	}, func() float64 { return float64(a.places.all.Used()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_promql_samples", Help: "Number of samples that are reserved for PromQL queries in progress.",
	}, func() float64 { return float64(a.Store.SamplesUsed()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_promql_refused_total",
		Help: "Total number of PromQL queries answered with 503 because the limit of samples of concurrent queries was " +
			"reached.",
	}, func() float64 { return float64(a.Store.SamplesRefused()) })
}
