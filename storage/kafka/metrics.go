package kafka

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Why a produce was refused or failed.
const (
	failedAway    = "away"        // no broker answers
	failedLogFull = "log_full"    // the consumer lags behind retention
	failedBuffer  = "buffer_full" // too much waits for its acknowledgement
	failedTimeout = "timeout"     // no acknowledgement in time
	failedOther   = "other"       // the broker refused, or the caller left
)

var failures = []string{failedAway, failedLogFull, failedBuffer, failedTimeout, failedOther}

// metrics of a client.
type metrics struct {
	duration prometheus.Histogram
	records  prometheus.Counter
	bytes    prometheus.Counter
	failed   *prometheus.CounterVec
	letters  prometheus.Counter
	measured prometheus.Gauge
}

func newMetrics(c *Client, registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	m := &metrics{
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "livegraph_kafka_produce_duration_seconds", Help: "Time until all records of one call were acknowledged by all in-sync replicas, or it failed.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		records: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_kafka_produced_records_total", Help: "Records of topic points that were acknowledged.",
		}),
		bytes: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_kafka_produced_bytes_total", Help: "Bytes of keys and values of acknowledged records of topic points, before compression.",
		}),
		failed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_kafka_produce_failures_total", Help: "Calls that were refused or failed: away (no broker answers), log_full (the consumer lags behind retention), " +
				"buffer_full (too much waits for its acknowledgement), timeout (none came in time), other.",
		}, []string{"reason"}),
		letters: factory.NewCounter(prometheus.CounterOpts{
			Name: "livegraph_kafka_dead_letters_produced_total", Help: "Records put into points.dlq and acknowledged.",
		}),
		measured: factory.NewGauge(prometheus.GaugeOpts{
			Name: "livegraph_kafka_offsets_observed_timestamp_seconds", Help: "When the offsets of topic points were last read, seconds since the Unix epoch.",
		}),
	}
	for _, reason := range failures {
		m.failed.WithLabelValues(reason)
	}
	c.registerGauges(factory)
	if registerer != nil {
		registerer.MustRegister(&c.partitions)
	}
	return m
}

// registerGauges adds what is read when it is asked for; none of it asks a broker.
func (c *Client) registerGauges(factory promauto.Factory) {
	gauge := func(name, help string, read func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	gauge("livegraph_kafka_up", "1 while a broker has answered of late, else 0; then ingest is refused at once.", func() float64 {
		if c.Healthy() {
			return 1
		}
		return 0
	})
	gauge("livegraph_kafka_buffered_bytes", "Bytes of records that wait for their acknowledgement.",
		func() float64 { return float64(c.producer.BufferedProduceBytes()) })
	gauge("livegraph_kafka_buffered_limit_bytes", "Most bytes of records that may wait; beyond, ingest answers 503.",
		func() float64 { return float64(c.opts.BufferedBytes) })
	gauge("livegraph_kafka_buffered_records", "Records that wait for their acknowledgement.",
		func() float64 { return float64(c.producer.BufferedProduceRecords()) })
	gauge("livegraph_kafka_log_fill_ratio", "Share of the log's retention that the points consumer lags behind, on its slowest partition; at 1 records are lost.", c.LogFill)
	gauge("livegraph_kafka_log_full_threshold_ratio", "Share of the log's retention at which ingest answers 503; 0: never.",
		func() float64 { return c.opts.LogFullThreshold })
	gauge("livegraph_kafka_retention_bytes", "Bytes that topic points keeps of each partition, as its setting says; 0: not known.",
		func() float64 { return float64(max(c.fill.retention.Load(), 0)) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_kafka_lost_records_total", Help: "Records that retention removed before the points consumer had them, as far as this process has seen: data loss.",
	}, func() float64 { return float64(c.LostRecords()) })
}

// produced adds an acknowledged call.
func (m *metrics) produced(msgs []pointblock.Message, began time.Time) {
	size := 0
	for i := range msgs {
		size += len(msgs[i].Key) + len(msgs[i].Value)
	}
	m.records.Add(float64(len(msgs)))
	m.bytes.Add(float64(size))
	m.duration.Observe(time.Since(began).Seconds())
}

// partitions are the offsets of topic points as they were last observed.
type partitions struct {
	mu    sync.Mutex
	state []PartitionState
	sizes map[int32]int64
	ages  lagAges
}

var (
	partitionLabel = []string{"partition"}
	endDesc        = prometheus.NewDesc("livegraph_kafka_partition_end_offset", "Offset after the last record of a partition of topic points.", partitionLabel, nil)
	startDesc      = prometheus.NewDesc("livegraph_kafka_partition_start_offset", "Offset of the first record that the partition still has.", partitionLabel, nil)
	committedDesc  = prometheus.NewDesc("livegraph_kafka_partition_committed_offset", "Offset below which the points consumer has stored and committed everything.", partitionLabel, nil)
	lagDesc        = prometheus.NewDesc("livegraph_kafka_partition_lag_records", "Records that the points consumer has yet to store and commit.", partitionLabel, nil)
	lagAgeDesc     = prometheus.NewDesc("livegraph_kafka_partition_lag_seconds", "How long ago, to a second or so, the oldest record that is not committed came; at least that long when it was there before this process.", partitionLabel, nil)
	sizeDesc       = prometheus.NewDesc("livegraph_kafka_partition_bytes", "Bytes of the partition's largest replica.", partitionLabel, nil)
)

// observe takes up a new reading.
func (p *partitions) observe(state []PartitionState, sizes map[int32]int64, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.sizes = state, sizes
	p.ages.observe(state, at)
}

// Describe implements prometheus.Collector.
func (p *partitions) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{endDesc, startDesc, committedDesc, lagDesc, lagAgeDesc, sizeDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (p *partitions) Collect(to chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for i, s := range p.state {
		label := strconv.Itoa(i)
		gauge := func(d *prometheus.Desc, value float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, label)
		}
		gauge(endDesc, float64(s.End))
		gauge(startDesc, float64(s.Start))
		if s.Committed >= 0 {
			gauge(committedDesc, float64(s.Committed))
		}
		gauge(lagDesc, float64(s.lag()))
		gauge(lagAgeDesc, p.ages.of(i, now).Seconds())
		if size, known := p.sizes[int32(i)]; known {
			gauge(sizeDesc, float64(size))
		}
	}
}
