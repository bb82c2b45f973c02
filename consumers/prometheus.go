package consumers

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/twmb/franz-go/pkg/kgo"
)

// collectors are the Prometheus metrics of a loop in addition to its counters.
type collectors struct {
	rows, bytes         prometheus.Histogram // of batches
	prepare, store      prometheus.Histogram
	freshness           prometheus.Histogram
	watermark           *prometheus.GaugeVec
	owned               prometheus.Gauge
	lastStored          prometheus.Gauge
	mu                  sync.Mutex
	watermarkPartitions map[int32]prometheus.Gauge
}

// newCollectors creates the collectors and registers them and the loop's counters with the label
// consumer. A nil registerer registers nothing.
func newCollectors(l *Loop, registerer prometheus.Registerer) *collectors {
	factory, labels := promauto.With(registerer), prometheus.Labels{"consumer": l.cfg.Name}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return factory.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: labels, Buckets: buckets})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels})
	}
	seconds := prometheus.ExponentialBuckets(0.001, 2.5, 11)
	c := &collectors{
		rows: histogram(
			"livegraph_consumer_batch_rows",
			"Number of rows in a batch.",
			prometheus.ExponentialBuckets(10, 10, 6),
		),
		bytes: histogram("livegraph_consumer_batch_bytes", "Size of the records of a batch in bytes.",
			prometheus.ExponentialBuckets(1<<10, 8, 6)),
		prepare: histogram(
			"livegraph_consumer_prepare_duration_seconds", "Duration of preparing a batch for storage in seconds.", seconds,
		),
		store: histogram(
			"livegraph_consumer_store_duration_seconds", "Duration of storing a batch in seconds, including retried failures.",
			seconds,
		),
		freshness: histogram(
			"livegraph_consumer_freshness_seconds", "Time from the production of a record until it is visible, in seconds.",
			[]float64{0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2.5, 5, 10, 30, 60, 300, 3600},
		),
		watermark: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_consumer_watermark_offset",
			Help: "Offset in an assigned partition below which all records are visible.", ConstLabels: labels,
		}, []string{"partition"}),
		owned: gauge("livegraph_consumer_partitions", "Number of partitions assigned to this process."),
		lastStored: gauge("livegraph_consumer_last_batch_timestamp_seconds",
			"Unix timestamp of the last stored batch, 0 if there was none yet."),
		watermarkPartitions: map[int32]prometheus.Gauge{},
	}
	l.metrics.register(factory, labels)
	return c
}

// register registers the counters.
func (m *Metrics) register(factory promauto.Factory, labels prometheus.Labels) {
	for _, counter := range []struct {
		name, help string
		value      *atomic.Int64
	}{
		{
			"livegraph_consumer_records_total", "Total number of processed records, stored or written as dead letters.",
			&m.Records,
		},
		{"livegraph_consumer_rows_total", "Total number of stored rows.", &m.Rows},
		{"livegraph_consumer_batches_total", "Total number of stored batches.", &m.Batches},
		{
			"livegraph_consumer_dead_letters_total",
			"Total number of records that can never be processed and were written to the topic's dead letter topic (.dlq).",
			&m.DeadLetters,
		},
		{
			"livegraph_consumer_retries_total",
			"Total number of failures that were retried because a store or the log did not respond.",
			&m.Retries,
		},
		{"livegraph_consumer_rebalances_total", "Total number of assignments and revocations of partitions.", &m.Rebalances},
		{
			"livegraph_consumer_restarts_total",
			"Total number of group memberships ended by a failure. The consumer rejoins the group.",
			&m.Restarts,
		},
		{
			"livegraph_consumer_lost_records_total",
			"Total number of records that were no longer in the log when they were due. These records are lost.",
			&m.Lost,
		},
	} {
		factory.NewCounterFunc(prometheus.CounterOpts{Name: counter.name, Help: counter.help, ConstLabels: labels},
			func() float64 { return float64(counter.value.Load()) })
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "livegraph_consumer_fetch_lag_records",
		Help:        "Number of records in the assigned partitions that are not yet fetched, as of the last fetch.",
		ConstLabels: labels,
	}, func() float64 { return float64(m.Lag.Load()) })
}

// observeStored records the metrics of a batch that has just become visible.
func (c *collectors) observeStored(b *batch, took time.Duration) {
	now := time.Now()
	c.store.Observe(took.Seconds())
	c.rows.Observe(float64(b.Rows()))
	c.bytes.Observe(float64(b.bytes))
	c.lastStored.Set(float64(now.UnixMilli()) / 1000)
	for _, r := range b.records {
		c.freshness.Observe(now.Sub(r.Timestamp).Seconds())
	}
}

// setWatermarks sets the watermarks of owned partitions.
func (c *collectors) setWatermarks(next map[int32]kgo.EpochOffset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, at := range next {
		gauge, known := c.watermarkPartitions[p]
		if !known {
			gauge = c.watermark.WithLabelValues(strconv.Itoa(int(p)))
			c.watermarkPartitions[p] = gauge
		}
		gauge.Set(float64(at.Offset))
	}
}

// setAssigned sets the number of owned partitions and deletes the watermarks of the others,
// which their owners export.
func (c *collectors) setAssigned(owned map[int32]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owned.Set(float64(len(owned)))
	for p := range c.watermarkPartitions {
		if !owned[p] {
			c.watermark.DeleteLabelValues(strconv.Itoa(int(p)))
			delete(c.watermarkPartitions, p)
		}
	}
}
