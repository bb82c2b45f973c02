package rules

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the metrics of the evaluation of rules.
type metrics struct {
	workspaces, owned   prometheus.Gauge
	evaluations, failed prometheus.Counter
	missed              prometheus.Counter
	duration            prometheus.Histogram
	recorded            prometheus.Counter
	invisible           prometheus.Counter
	changes             *prometheus.CounterVec
	sent                *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		workspaces: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_rules_workspaces", Help: "Number of workspaces that have rules, or alerts that fire.",
		}),
		owned: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_rules_owned_workspaces", Help: "Number of workspaces whose rules this process evaluates.",
		}),
		evaluations: counter("livegraph_rules_evaluations_total", "Total number of evaluations of rules."),
		failed: counter("livegraph_rules_failures_total",
			"Total number of evaluations of rules that failed, or whose points could not be written."),
		missed: counter("livegraph_rules_missed_evaluations_total",
			"Total number of evaluations of groups that were left out because the one before took too long."),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_rules_evaluation_seconds", Help: "Duration of the evaluation of a group, with the time it waited.",
			Buckets: prometheus.ExponentialBuckets(0.004, 4, 8),
		}),
		recorded: counter("livegraph_rules_points_total", "Total number of points that rules wrote."),
		invisible: counter("livegraph_rules_invisible_total",
			"Total number of times when a rule was evaluated before points of a rule that it reads were visible."),
		changes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_rules_alert_changes_total", Help: "Total number of alerts that began to fire or were resolved.",
		}, []string{"state"}),
		sent: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_rules_alertmanager_requests_total",
			Help: "Total number of requests to Alertmanagers, by outcome: sent, failed, dropped (the queue was full).",
		}, []string{"outcome"}),
	}
	for _, state := range []string{"firing", "resolved"} {
		m.changes.WithLabelValues(state)
	}
	for _, outcome := range []string{"sent", "failed", "dropped"} {
		m.sent.WithLabelValues(outcome)
	}
	return m
}
