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
	m := &metrics{
		commands: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_commands_total",
			Help: "Total number of decided commands by result: applied (what: type of the command), failed (what: kind of the " +
				"error), repeated (duplicate record).",
		}, []string{"result", "what"}),
		groupRecords: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_commands_group_records", Help: "Number of records decided in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		groupTime: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "livegraph_commands_group_duration_seconds",
			Help: "Duration of the transaction of a group of commands in seconds, by stage: begin (including reading the " +
				"referenced data), decide, commit (including writing).",
			Buckets: prometheus.ExponentialBuckets(0.0002, 2.5, 13),
		}, []string{"stage"}),
		skipped: newCounter(
			factory, "livegraph_commands_skipped_total",
			"Total number of records that were read again although they were already decided.",
		),
		stale: newCounter(
			factory, "livegraph_commands_stale_total",
			"Total number of groups that were discarded because another process decides their partition.",
		),
		replies: newCounter(
			factory, "livegraph_commands_replies_total", "Total number of outcomes sent to the waiting processes.",
		),
		repliesLost: newCounter(
			factory, "livegraph_commands_replies_lost_total",
			"Total number of outcomes that could not be sent. The waiting processes read them from Postgres.",
		),
		stacksFound: newCounter(
			factory, "livegraph_commands_stacks_remembered_total",
			"Total number of groups, by workspace, whose undo stacks were found in memory or in Redis.",
		),
		stacksRead: newCounter(
			factory, "livegraph_commands_stacks_rebuilt_total",
			"Total number of groups, by workspace, whose undo stacks were read from Postgres.",
		),
		pruned: newCounter(
			factory, "livegraph_commands_outcomes_pruned_total",
			"Total number of outcomes removed because they can no longer be requested.",
		),
		aside: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_commands_set_aside_workspaces",
			Help: "Number of workspaces whose commands are decided separately from the rest of their partition, because a " +
				"command affects a very large number of edges.",
		}),
	}
	for _, stage := range []string{"begin", "decide", "commit"} {
		m.groupTime.WithLabelValues(stage)
	}
	m.addPublisher(factory)
	return m
}

func newCounter(factory promauto.Factory, name, help string) prometheus.Counter {
	return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// addPublisher adds the metrics of the publisher of graph.events.
func (m *metrics) addPublisher(factory promauto.Factory) {
	m.published = newCounter(
		factory, "livegraph_graph_events_published_total",
		"Total number of graph changes produced to the topic graph.events, including repeats.",
	)
	m.publishTime = factory.NewHistogram(prometheus.HistogramOpts{
		Name: "livegraph_graph_events_publish_duration_seconds",
		Help: "Duration of reading a portion of a workspace's changes and producing it to the topic graph.events, in " +
			"seconds.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 11),
	})
	m.unpublished = factory.NewGauge(prometheus.GaugeOpts{
		Name: "livegraph_graph_events_unpublished_workspaces",
		Help: "Number of workspaces in the assigned partitions with changes that are not yet in the topic graph.events.",
	})
	m.oldestAge = factory.NewGauge(prometheus.GaugeOpts{
		Name: "livegraph_graph_events_unpublished_age_seconds",
		Help: "Age of the oldest change of any graph that is not yet in the topic graph.events, in seconds, as last " +
			"observed by this process, 0 if there is none.",
	})
	m.publishFails = newCounter(
		factory, "livegraph_graph_events_publish_failures_total",
		"Total number of failed attempts to produce changes to the topic graph.events. They are retried.",
	)
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
