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
			Help: "Total number of failed runs of background work of this process, which are retried, by work: retention, " +
				"tombstones, deletions (of points), log (trimming by time), graphs (scans of undo stacks and deleted nodes), " +
				"purges (of nodes), workspaces (deleted ones).",
		}, []string{"work"}),
		expired: counter(
			"livegraph_retention_removed_rows_total",
			"Total number of rows that this process removed because their retention had expired.",
		),
		erased: counter(
			"livegraph_workspace_deletion_rows_total",
			"Total number of rows of deleted workspaces that this process removed from all stores.",
		),
		pruned: counter(
			"livegraph_tombstones_pruned_total",
			"Total number of tombstones that this process removed because the log no longer contains records that they could "+
				"cover.",
		),
		entries: counter(
			"livegraph_undo_entries_pruned_total",
			"Total number of commands that this process removed from undo stacks because they can no longer be undone or "+
				"redone.",
		),
		trimmed: counter(
			"livegraph_log_trimmed_records_total",
			"Total number of records that this process removed from topics because they were older than the topic's retention.",
		),
		purged: counter("livegraph_nodes_purged_total", "Total number of deleted nodes whose contents this process removed."),
		deletions: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_workspace_deletions_pending",
			Help: "Number of deleted workspaces that are not yet removed from all stores, as last observed by this process.",
		}),
		deleted: counter(
			"livegraph_point_deletions_total",
			"Total number of deletions of points that this process executed in ClickHouse. Each deletion is executed twice.",
		),
		pointDeletions: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_point_deletions_pending",
			Help: "Number of deletions of points that are not yet executed in ClickHouse, as last observed by this process. " +
				"Queries exclude the points that they cover.",
		}),
		oldestDeletion: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_point_deletions_oldest_seconds",
			Help: "Age of the oldest deletion of points that is not yet executed in ClickHouse, in seconds, 0 if there is none.",
		}),
		lastExpiry: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_retention_last_pass_timestamp_seconds",
			Help: "Unix timestamp of the last time this process finished removing old points, 0 if there was none yet.",
		}),
	}
	for _, work := range []string{"retention", "tombstones", "deletions", "log", "graphs", "purges", "workspaces"} {
		m.failures.WithLabelValues(work)
	}
	return m
}
