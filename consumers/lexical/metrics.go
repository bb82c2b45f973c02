package lexical

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// metrics are the metrics of the consumer, in addition to those of the loop.
type metrics struct {
	nodes      *prometheus.CounterVec
	postings   prometheus.Counter
	gaps       prometheus.Counter
	unreadable prometheus.Counter
	filled     prometheus.Counter
	unfilled   prometheus.Gauge
	lists      prometheus.Counter
	listsDue   prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		nodes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_lexical_nodes_total",
			Help: "Total number of nodes synchronized with the text index of search by result: written, removed, same (no " +
				"change was needed).",
		}, []string{"result"}),
		postings: counter("livegraph_lexical_postings_total", "Total number of terms of nodes that were written or removed."),
		gaps: counter(
			"livegraph_lexical_gaps_total",
			"Total number of times that changes of a workspace were missing from the log and its nodes were read instead.",
		),
		unreadable: counter(
			"livegraph_lexical_unreadable_total",
			"Total number of events that could not be read. The affected nodes are read from the graph.",
		),
		filled: counter(
			"livegraph_lexical_filled_total",
			"Total number of workspaces whose text index was built from their nodes.",
		),
		unfilled: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_lexical_unfilled_workspaces",
			Help: "Number of workspaces whose text index is not yet built from their nodes, as last observed by the process " +
				"that builds it.",
		}),
		lists: counter(
			"livegraph_lexical_champion_lists_refreshed_total",
			"Total number of lists of the highest-weighted postings of frequent terms that were filled, trimmed or dropped.",
		),
		listsDue: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_lexical_champion_lists_due",
			Help: "Number of lists of the highest-weighted postings of frequent terms that must be filled or trimmed, as last " +
				"observed by the process that does it.",
		}),
	}
	for _, result := range []string{"written", "removed", "same"} {
		m.nodes.WithLabelValues(result)
	}
	return m
}

// recordDone records the result of a write.
func (m *metrics) recordDone(d textindex.LexicalDone) {
	m.nodes.WithLabelValues("written").Add(float64(d.Written))
	m.nodes.WithLabelValues("removed").Add(float64(d.Removed))
	m.nodes.WithLabelValues("same").Add(float64(d.Same))
	m.postings.Add(float64(d.Postings))
	m.gaps.Add(float64(d.Gaps))
}
