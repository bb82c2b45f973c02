package maintenance

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the metrics of the background work of this process.
type metrics struct {
	failures  *prometheus.CounterVec
	expired   prometheus.Counter
	erased    prometheus.Counter
	pruned    prometheus.Counter
	deletions prometheus.Gauge
	deleted   prometheus.Counter
	entries   prometheus.Counter
	trimmed   prometheus.Counter
	purged    prometheus.Counter

	pointDeletions, oldestDeletion prometheus.Gauge
	lastExpiry                     prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		failures: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_upkeep_failures_total",
			Help: "Background work of this process that failed and is tried again, by work: retention, tombstones, deletions " +
				"(of points), log (trimmed by time), graphs (undo stacks and deleted nodes looked through), purges (of nodes), " +
				"workspaces (that were deleted).",
		}, []string{"work"}),
		expired: counter(
			"livegraph_retention_removed_rows_total", "Rows that this process removed because they were past their retention.",
		),
		erased: counter(
			"livegraph_workspace_deletion_rows_total", "Rows of deleted workspaces that this process removed, of all stores.",
		),
		pruned: counter(
			"livegraph_tombstones_pruned_total", "Tombstones that this process removed because the log had outlived them.",
		),
		entries: counter(
			"livegraph_undo_entries_pruned_total",
			"Commands that this process removed from undo stacks because they can be neither undone nor redone any more.",
		),
		trimmed: counter(
			"livegraph_log_trimmed_records_total",
			"Records that this process removed from the topics because they were older than these are kept.",
		),
		purged: counter("livegraph_nodes_purged_total", "Deleted nodes of which this process removed what they were."),
		deletions: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_workspace_deletions_pending",
			Help: "Deleted workspaces that are not removed from all stores yet, as this process last saw it.",
		}),
		deleted: counter(
			"livegraph_point_deletions_total", "Deletions of points that this process did in ClickHouse; each is done twice.",
		),
		pointDeletions: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_point_deletions_pending",
			Help: "Deletions of points that were not done in ClickHouse yet, as this process last saw it. Queries leave out " +
				"what they cover.",
		}),
		oldestDeletion: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_point_deletions_oldest_seconds", Help: "Age of the oldest of them; 0: there is none.",
		}),
		lastExpiry: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_retention_last_pass_timestamp_seconds",
			Help: "When this process last finished removing old points; 0: not yet.",
		}),
	}
	for _, work := range []string{"retention", "tombstones", "deletions", "log", "graphs", "purges", "workspaces"} {
		m.failures.WithLabelValues(work)
	}
	return m
}
