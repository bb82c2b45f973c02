package commands

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Values of the metrics' label result.
const (
	applied  = "applied"
	failed   = "failed"
	repeated = "repeated" // a duplicate record, whose stored outcome was sent again
)

// metrics are the metrics of the consumer, in addition to those of the loop.
type metrics struct {
	commands     *prometheus.CounterVec
	groupRecords prometheus.Histogram
	groupTime    *prometheus.HistogramVec
	skipped      prometheus.Counter
	stale        prometheus.Counter
	replies      prometheus.Counter
	repliesLost  prometheus.Counter
	stacksFound  prometheus.Counter
	stacksRead   prometheus.Counter
	pruned       prometheus.Counter
	published    prometheus.Counter
	publishTime  prometheus.Histogram
	unpublished  prometheus.Gauge
	oldestAge    prometheus.Gauge
	publishFails prometheus.Counter
	aside        prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		commands: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_commands_total",
			Help: "Commands decided, by result: applied (what: their type), failed (what: the kind of refusal), repeated (a " +
				"record that was there twice).",
		}, []string{"result", "what"}),
		groupRecords: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_commands_group_records", Help: "Records that were decided in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		groupTime: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "livegraph_commands_group_duration_seconds",
			Help: "Time of a group's transaction, by stage: begin (with reading what is named), decide, commit (with " +
				"writing).",
			Buckets: prometheus.ExponentialBuckets(0.0002, 2.5, 13),
		}, []string{"stage"}),
		skipped: counter("livegraph_commands_skipped_total", "Records that were read again and are decided."),
		stale: counter(
			"livegraph_commands_stale_total", "Groups that were thrown away because somebody else decides their partition.",
		),
		replies: counter("livegraph_commands_replies_total", "Outcomes sent to the processes that wait for them."),
		repliesLost: counter(
			"livegraph_commands_replies_lost_total", "Outcomes that could not be sent; who waits finds them in Postgres.",
		),
		stacksFound: counter(
			"livegraph_commands_stacks_remembered_total",
			"Groups, by workspace, that found their undo stacks in memory or in Redis.",
		),
		stacksRead: counter(
			"livegraph_commands_stacks_rebuilt_total", "Groups, by workspace, that read their undo stacks from Postgres.",
		),
		pruned: counter(
			"livegraph_commands_outcomes_pruned_total", "Outcomes removed because nobody can ask for them any more.",
		),
		published: counter(
			"livegraph_graph_events_published_total", "Changes of graphs put on topic graph.events, repeats included.",
		),
		publishTime: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "livegraph_graph_events_publish_duration_seconds",
			Help:    "Time to put a portion of a workspace's changes on topic graph.events, with reading them.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 11),
		}),
		aside: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_commands_set_aside_workspaces",
			Help: "Workspaces whose commands are decided beside the rest of their partition, because one touches very " +
				"many edges.",
		}),
		unpublished: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_graph_events_unpublished_workspaces",
			Help: "Workspaces of our partitions with changes that are not on topic graph.events yet.",
		}),
		oldestAge: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_graph_events_unpublished_age_seconds",
			Help: "How old the oldest change of any graph is that is not on topic graph.events yet, as this process last saw " +
				"it; 0: all are.",
		}),
		publishFails: counter(
			"livegraph_graph_events_publish_failures_total",
			"Tries to put changes on topic graph.events that failed; they are repeated.",
		),
	}
	for _, stage := range []string{"begin", "decide", "commit"} {
		m.groupTime.WithLabelValues(stage)
	}
	return m
}

// counts contains numbers of commands by the labels result and what.
type counts map[[2]string]int

func (c counts) add(result, what string, n int) { c[[2]string{result, what}] += n }

// group records the metrics of a committed group.
func (m *metrics) group(records int, c counts, begin, decide, commit time.Duration) {
	m.groupRecords.Observe(float64(records))
	m.groupTime.WithLabelValues("begin").Observe(begin.Seconds())
	m.groupTime.WithLabelValues("decide").Observe(decide.Seconds())
	m.groupTime.WithLabelValues("commit").Observe(commit.Seconds())
	for what, n := range c {
		m.commands.WithLabelValues(what[0], what[1]).Add(float64(n))
	}
}
