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
			Help: "Nodes that the text lane of search was made to agree with, by result: written, removed, same (nothing was " +
				"to be done).",
		}, []string{"result"}),
		postings: counter("livegraph_lexical_postings_total", "Terms of nodes that were written or removed."),
		gaps: counter(
			"livegraph_lexical_gaps_total",
			"Times that changes of a workspace never came by the log and its nodes were read instead.",
		),
		unreadable: counter(
			"livegraph_lexical_unreadable_total", "Events that could not be read; what they touched is read from the graph.",
		),
		filled: counter("livegraph_lexical_filled_total", "Workspaces whose text lane was made from their nodes."),
		unfilled: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_lexical_unfilled_workspaces",
			Help: "Workspaces whose text lane is still to be made from their nodes, as the process that does it saw last.",
		}),
		lists: counter(
			"livegraph_lexical_champion_lists_refreshed_total",
			"Lists of the heaviest postings of frequent terms that were filled, cut back or dropped.",
		),
		listsDue: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_lexical_champion_lists_due",
			Help: "Lists of the heaviest postings of frequent terms that are to be filled or cut back, as the process that " +
				"does it saw last.",
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
