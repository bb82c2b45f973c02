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
	repeats prometheus.Counter
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
			Help: "Age of the time from which queries read points because rollups are not yet computed, in seconds. Values of " +
				"up to 70 minutes are normal.",
		}),
		passes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_rollups_passes_total", Help: "Total number of due passes by result (done, failed).",
		}, []string{"result"}),
		seconds: counter("livegraph_rollups_seconds_total", "Total duration of passes in seconds."),
		marks: counter(
			"livegraph_rollups_marks_total",
			"Total number of series that were recomputed because of late, overwritten or deleted points, counted once per day "+
				"of such points.",
		),
		minutes: counter(
			"livegraph_rollups_minutes_total",
			"Total number of minutes of series that were computed or recomputed.",
		),
		points: counter("livegraph_rollups_points_total", "Total number of points from which rollups were computed."),
		repeats: counter(
			"livegraph_rollups_repeated_total",
			"Total number of statements that were repeated with FINAL, because points had several rows or the statement "+
				"exceeded its memory.",
		),
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
	m.repeats.Add(float64(report.Repeated))
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
