package kafka

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Reasons why a produce was refused or failed.
const (
	failedUnavailable = "away"        // no broker answers
	failedLogFull     = "log_full"    // the consumer lags behind retention
	failedBuffer      = "buffer_full" // too many records wait for their acknowledgement
	failedTimeout     = "timeout"     // no acknowledgement in time
	failedOther       = "other"       // the broker returned an error, or the caller cancelled
)

var failures = []string{failedUnavailable, failedLogFull, failedBuffer, failedTimeout, failedOther}

// metrics contains the metrics of a client.
type metrics struct {
	duration    *prometheus.HistogramVec
	records     *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	failed      *prometheus.CounterVec
	deadLetters *prometheus.CounterVec
	stalled     *prometheus.CounterVec
	measured    *prometheus.GaugeVec
}

// topicLabel is the label with the topic's name, without the prefix.
const topicLabel = "topic"

func newMetrics(c *Client, registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	m := &metrics{
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "livegraph_kafka_produce_duration_seconds",
			Help: "Duration of a produce call in seconds, until all its records are acknowledged by all in-sync replicas " +
				"or the call fails.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}, []string{topicLabel}),
		records: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_kafka_produced_records_total", Help: "Total number of acknowledged records.",
		}, []string{topicLabel}),
		bytes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_kafka_produced_bytes_total",
			Help: "Total size of the keys and values of acknowledged records in bytes, before compression.",
		}, []string{topicLabel}),
		failed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_kafka_produce_failures_total",
			Help: "Total number of refused or failed produce calls by reason: away (no broker responds), log_full (the " +
				"consumer lags behind retention), buffer_full (too many records wait for their acknowledgement), timeout (no " +
				"acknowledgement in time), other.",
		}, []string{topicLabel, "reason"}),
		deadLetters: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_kafka_dead_letters_produced_total",
			Help: "Total number of records of the topic that were produced to its dead letter topic and acknowledged.",
		}, []string{topicLabel}),
		stalled: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "livegraph_kafka_stalled_readers_total",
			Help: "Total number of readers of the topic that had stopped fetching although there were records, and were " +
				"replaced.",
		}, []string{topicLabel}),
		measured: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "livegraph_kafka_offsets_observed_timestamp_seconds",
			Help: "Unix timestamp of the last read of the topic's offsets, 0 if there was none yet.",
		}, []string{topicLabel}),
	}
	for _, t := range c.topics {
		m.initTopic(t)
		c.registerGauges(promauto.With(withTopicLabel(registerer, t)), t)
	}
	if registerer != nil {
		registerer.MustRegister(topicCollector{c.topics})
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_kafka_up",
		Help: "1 if a broker has responded recently, otherwise 0. At 0, ingest and command requests are refused immediately.",
	}, func() float64 {
		if c.Healthy() {
			return 1
		}
		return 0
	})
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "livegraph_kafka_log_full_threshold_ratio",
		Help: "Maximum lag of a topic's consumer as a share of the topic's retention, 0 if unlimited. When it is exceeded, " +
			"ingest or command requests are answered with 503.",
	}, func() float64 { return c.opts.LogFullThreshold })
	return m
}

// withTopicLabel returns a registerer that adds the topic's label to metrics.
func withTopicLabel(registerer prometheus.Registerer, t *topic) prometheus.Registerer {
	if registerer == nil {
		return nil
	}
	return prometheus.WrapRegistererWith(prometheus.Labels{topicLabel: t.label}, registerer)
}

// initTopic exports a topic's metrics with the value 0 from the start.
func (m *metrics) initTopic(t *topic) {
	m.duration.WithLabelValues(t.label)
	for _, counter := range []*prometheus.CounterVec{m.records, m.bytes, m.deadLetters, m.stalled} {
		counter.WithLabelValues(t.label)
	}
	for _, reason := range failures {
		m.failed.WithLabelValues(t.label, reason)
	}
}

// registerGauges registers metrics that are read on collection, without requests to brokers.
func (c *Client) registerGauges(factory promauto.Factory, t *topic) {
	gauge := func(name, help string, read func() float64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	gauge("livegraph_kafka_buffered_bytes", "Size of the records that wait for their acknowledgement, in bytes.",
		func() float64 { return float64(t.bufferedBytes()) })
	gauge(
		"livegraph_kafka_buffered_limit_bytes",
		"Maximum size of the records that may wait for their acknowledgement, in bytes. When it is reached, requests are "+
			"answered with 503.",
		func() float64 { return float64(t.maxBufferedBytes) },
	)
	gauge("livegraph_kafka_buffered_records", "Number of records that wait for their acknowledgement.",
		func() float64 { return float64(t.bufferedRecords()) })
	if t.group == "" {
		return
	}
	gauge(
		"livegraph_kafka_log_fill_ratio",
		"Lag of the topic's consumer on its slowest partition as a share of the log's retention. At 1, records are lost. "+
			"With the embedded broker, the lag as a share of the maximum number of records, if that is higher.",
		t.fill.read,
	)
	gauge(
		"livegraph_kafka_retention_bytes", "Configured retention of each partition of the topic in bytes, 0 if unknown.",
		func() float64 { return float64(max(t.fill.retention.Load(), 0)) },
	)
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "livegraph_kafka_lost_records_total",
		Help: "Total number of records that retention removed before the topic's consumer had processed them, as observed " +
			"by this process. These records are lost.",
	}, func() float64 { return float64(t.fill.lost.Load()) })
}

// recordProduce records a finished call. reason is why it failed, empty if it succeeded.
func (m *metrics) recordProduce(t *topic, records int, bytes int64, began time.Time, reason string) {
	m.duration.WithLabelValues(t.label).Observe(time.Since(began).Seconds())
	if reason != "" {
		m.failed.WithLabelValues(t.label, reason).Inc()
		return
	}
	m.records.WithLabelValues(t.label).Add(float64(records))
	m.bytes.WithLabelValues(t.label).Add(float64(bytes))
}

// partitionOffsets contains a topic's offsets as last observed.
type partitionOffsets struct {
	mu    sync.Mutex
	state []PartitionState
	sizes map[int32]int64
	ages  lagAges
}

var (
	partitionLabel = []string{topicLabel, "partition"}
	endDesc        = prometheus.NewDesc(
		"livegraph_kafka_partition_end_offset", "Offset after the last record of the partition.", partitionLabel, nil,
	)
	startDesc = prometheus.NewDesc(
		"livegraph_kafka_partition_start_offset",
		"Offset of the first record that the partition still contains.",
		partitionLabel,
		nil,
	)
	committedDesc = prometheus.NewDesc(
		"livegraph_kafka_partition_committed_offset",
		"Offset in the partition below which the topic's consumer has stored and committed all records.", partitionLabel, nil,
	)
	lagDesc = prometheus.NewDesc(
		"livegraph_kafka_partition_lag_records",
		"Number of records that the topic's consumer has not yet stored and committed.",
		partitionLabel, nil,
	)
	lagAgeDesc = prometheus.NewDesc(
		"livegraph_kafka_partition_lag_seconds",
		"Age of the oldest uncommitted record of the partition in seconds, accurate to about one second. If the record is "+
			"older than this process, the value is a lower bound.",
		partitionLabel, nil,
	)
	sizeDesc = prometheus.NewDesc(
		"livegraph_kafka_partition_bytes", "Size of the partition's largest replica in bytes.", partitionLabel, nil,
	)
)

// observe sets the offsets and sizes, which were read at the given time.
func (p *partitionOffsets) observe(state []PartitionState, sizes map[int32]int64, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.sizes = state, sizes
	p.ages.observe(state, at)
}

// topicCollector is a prometheus.Collector of the offsets and lags of all topics.
type topicCollector struct{ topics []*topic }

// Describe implements prometheus.Collector.
func (topicCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		endDesc, startDesc, committedDesc, lagDesc, lagAgeDesc, sizeDesc, readerLagDesc, readerLagAgeDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c topicCollector) Collect(ch chan<- prometheus.Metric) {
	for _, t := range c.topics {
		t.partitions.collect(t.label, ch)
		t.readerLags.collect(t.label, ch)
	}
}

func (p *partitionOffsets) collect(topic string, ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for i, s := range p.state {
		label := strconv.Itoa(i)
		gauge := func(d *prometheus.Desc, value float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, topic, label)
		}
		gauge(endDesc, float64(s.End))
		gauge(startDesc, float64(s.Start))
		if s.Committed >= 0 {
			gauge(committedDesc, float64(s.Committed))
		}
		gauge(lagDesc, float64(s.lag()))
		gauge(lagAgeDesc, p.ages.age(i, now).Seconds())
		if size, known := p.sizes[int32(i)]; known {
			gauge(sizeDesc, float64(size))
		}
	}
}
