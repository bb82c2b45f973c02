package replica

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Labels of reads: the server that answered, and why. The reason of the replica is that it is current.
const (
	targetReplica = "replica"
	targetPrimary = "primary"
	reasonCurrent = "current"
)

// Metrics has the metrics of the replica. They are zero without one.
type Metrics struct {
	reads *prometheus.CounterVec
	lag   prometheus.Gauge
}

// NewMetrics creates the metrics and registers them unless registerer is nil.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	m := &Metrics{
		reads: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_postgres_replica_reads_total",
			Help: "Total number of reads of the graph with a configured replica of Postgres, by the server that answered " +
				"(target: replica or primary) and the reason: current (the replica has the newest change of the workspace), " +
				"behind (it does not have it yet), lagging (more than the maximum), unavailable, error (it answered with " +
				"an error).",
		}, []string{"target", "reason"}),
		lag: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_postgres_replica_lag_seconds",
			Help: "Lag of the replica of Postgres in seconds: the time since the primary was where the replica is. It also " +
				"grows while the replica is unavailable.",
		}),
	}
	m.reads.WithLabelValues(targetReplica, reasonCurrent)
	for _, reason := range []string{reasonBehind, reasonLag, reasonUnavailable, reasonError} {
		m.reads.WithLabelValues(targetPrimary, reason)
	}
	return m
}
