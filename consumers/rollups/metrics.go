package rollups

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// metrics are the metrics of a Worker.
type metrics struct {
	age     prometheus.Gauge
	passes  *prometheus.CounterVec
	seconds prometheus.Counter
	marks   prometheus.Counter
	minutes prometheus.Counter
	points  prometheus.Counter
}

// Results of a pass, as label values.
const (
	resultDone   = "done"
	resultFailed = "failed"
)

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		age: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_rollups_age_seconds",
			Help: "How long ago the time is from which on queries read points, because rollups are not computed yet; up to 70 " +
				"minutes is usual.",
		}),
		passes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_rollups_passes_total", Help: "Passes that were due, by result: done, failed.",
		}, []string{"result"}),
		seconds: counter("livegraph_rollups_seconds_total", "Time that passes took."),
		marks: counter(
			"livegraph_rollups_marks_total",
			"Series that were computed again because of late, overwritten or deleted points, counted once a day of such points.",
		),
		minutes: counter("livegraph_rollups_minutes_total", "Minutes of series that were computed, new and again."),
		points:  counter("livegraph_rollups_points_total", "Points that they were computed from."),
	}
	m.passes.WithLabelValues(resultDone)
	m.passes.WithLabelValues(resultFailed)
	return m
}

// observe records a finished pass.
func (m *metrics) observe(report *clickhouse.RollupReport, took time.Duration, err error) {
	m.marks.Add(float64(report.Marks))
	m.minutes.Add(float64(report.Minutes))
	m.points.Add(float64(report.Points))
	switch {
	case err != nil:
		m.passes.WithLabelValues(resultFailed).Inc()
	case report.Due:
		m.passes.WithLabelValues(resultDone).Inc()
	default:
		return
	}
	m.seconds.Add(took.Seconds())
}
