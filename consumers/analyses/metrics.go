package analyses

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/internal/graph/analysis"
)

// Outcomes of a run, as label values.
const (
	outcomeDone        = "done"
	outcomeFailed      = "failed"
	outcomeStopped     = "stopped"
	outcomeInterrupted = "interrupted"
)

// metrics are the metrics of a Runner.
type metrics struct {
	runs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	written prometheus.Counter
	open    *prometheus.GaugeVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	m := &metrics{
		runs: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_analyses_runs_total",
			Help: "Total number of runs of analyses of graphs by outcome: done, failed, stopped (the analysis was cancelled, " +
				"or another process continues it), interrupted (the process ended or a store was unavailable; another run " +
				"follows).",
		}, []string{"outcome"}),
		seconds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "livegraph_analyses_run_seconds",
			Help:    "Duration of runs of analyses that ended as done, by algorithm.",
			Buckets: prometheus.ExponentialBuckets(0.1, 4, 8),
		}, []string{"algorithm"}),
		written: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_analyses_written_nodes_total",
			Help: "Total number of nodes to which analyses wrote their results.",
		}),
		open: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_analyses_open",
			Help: "Number of analyses of all workspaces by state (queued, running), as a process without an analysis saw it " +
				"last.",
		}, []string{"state"}),
	}
	for _, outcome := range []string{outcomeDone, outcomeFailed, outcomeStopped, outcomeInterrupted} {
		m.runs.WithLabelValues(outcome)
	}
	for _, algorithm := range analysis.Algorithms() {
		m.seconds.WithLabelValues(algorithm)
	}
	for _, state := range []string{"queued", "running"} {
		m.open.WithLabelValues(state)
	}
	return m
}

// observe records a run that ended.
func (m *metrics) observe(algorithm analysis.Algorithm, outcome string, took time.Duration) {
	m.runs.WithLabelValues(outcome).Inc()
	if outcome == outcomeDone {
		m.seconds.WithLabelValues(string(algorithm)).Observe(took.Seconds())
	}
}
