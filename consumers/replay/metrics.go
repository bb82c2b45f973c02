package replay

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// metrics are the metrics of a Runner, by consumer.
type metrics struct{ consumers map[string]*counters }

// counters are the metrics of one consumer.
type counters struct {
	running, ratio         prometheus.Gauge
	records, rows, refused prometheus.Counter
	jobs                   *prometheus.CounterVec
}

// finalStates are the states in which a run can end a job.
var finalStates = []jobs.ReplayState{jobs.ReplayDone, jobs.ReplayFailed, jobs.ReplayCancelled}

func newMetrics(registerer prometheus.Registerer, names []string) *metrics {
	factory, label := promauto.With(registerer), []string{"consumer"}
	running := factory.NewGaugeVec(prometheus.GaugeOpts{
		Name: "livegraph_replay_running", Help: "1 if this process is running a replay, otherwise 0.",
	}, label)
	ratio := factory.NewGaugeVec(prometheus.GaugeOpts{
		Name: "livegraph_replay_progress_ratio",
		Help: "Share of the records of the last replay in this process that are processed, from 0 to 1.",
	}, label)
	records := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_replay_records_total",
		Help: "Total number of records processed by replays: stored, skipped, or no longer in the log.",
	}, label)
	rows := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_replay_rows_total", Help: "Total number of rows stored by replays.",
	}, label)
	refused := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_replay_refused_total", Help: "Total number of records that replays could not read or store.",
	}, label)
	jobs := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_replay_jobs_total",
		Help: "Total number of replays that this process finished, by state (done, failed, cancelled).",
	}, []string{"consumer", "state"})
	m := &metrics{consumers: map[string]*counters{}}
	for _, name := range names {
		c := &counters{
			running: running.WithLabelValues(name), ratio: ratio.WithLabelValues(name), records: records.WithLabelValues(name),
			rows: rows.WithLabelValues(name), refused: refused.WithLabelValues(name),
			jobs: jobs.MustCurryWith(prometheus.Labels{"consumer": name}),
		}
		for _, state := range finalStates {
			c.jobs.WithLabelValues(string(state))
		}
		m.consumers[name] = c
	}
	return m
}

func (m *metrics) forConsumer(consumer string) *counters { return m.consumers[consumer] }

// advance adds the progress of a run.
func (c *counters) advance(records, rows, total, done int64) {
	c.records.Add(float64(records))
	c.rows.Add(float64(rows))
	if total > 0 {
		c.ratio.Set(float64(done) / float64(total))
	}
}

func (c *counters) ended(state jobs.ReplayState) { c.jobs.WithLabelValues(string(state)).Inc() }
