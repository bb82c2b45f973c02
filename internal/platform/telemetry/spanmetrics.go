package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Register registers the metrics of spans by outcome. It does nothing if registerer is nil or
// without tracing.
func (t *Tracing) Register(registerer prometheus.Registerer) {
	if t == nil || registerer == nil {
		return
	}
	for outcome, count := range map[string]func(SpanStats) int64{
		"sent":    func(s SpanStats) int64 { return s.Sent },
		"failed":  func(s SpanStats) int64 { return s.Failed },
		"dropped": func(s SpanStats) int64 { return s.Dropped },
	} {
		registerer.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "livegraph_tracing_spans_total", ConstLabels: prometheus.Labels{"outcome": outcome},
			Help: "Total number of recorded spans by outcome: sent, failed (the collector did not accept them), dropped (the " +
				"queue was full).",
		}, func() float64 { return float64(count(t.Stats())) }))
	}
}
