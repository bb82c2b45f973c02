package kafka

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	readerLabels  = []string{"group", topicLabel}
	readerLagDesc = prometheus.NewDesc(
		"livegraph_kafka_reader_lag_records",
		"Records of the topic that a built-in consumer, by its group, has yet to commit.", readerLabels, nil,
	)
	readerLateDesc = prometheus.NewDesc(
		"livegraph_kafka_reader_lag_seconds",
		"How long ago, to a second or so, the oldest record of the topic came that a built-in consumer, by its group, has "+
			"not committed; at least that long when it was there before this process.",
		readerLabels, nil,
	)
)

// readers are the built-in consumers of a topic, as they were last observed.
type readers struct {
	mu   sync.Mutex
	seen []readerSeen
}

// readerSeen is how far one of them was.
type readerSeen struct {
	group   string
	records int64
	ages    lagAges
}

// observe takes up a new reading of a reader.
func (r *readers) observe(group string, state []PartitionState, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.seen, func(s readerSeen) bool { return s.group == group })
	if i < 0 {
		i, r.seen = len(r.seen), append(r.seen, readerSeen{group: group})
	}
	s := &r.seen[i]
	s.records = 0
	for _, p := range state {
		s.records += p.lag()
	}
	s.ages.observe(state, at)
}

// collect returns each reader's lag, that in time of its slowest partition.
func (r *readers) collect(topic string, to chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, s := range r.seen {
		var late time.Duration
		for p := range s.ages.partitions {
			late = max(late, s.ages.of(p, now))
		}
		to <- prometheus.MustNewConstMetric(readerLagDesc, prometheus.GaugeValue, float64(s.records), s.group, topic)
		to <- prometheus.MustNewConstMetric(readerLateDesc, prometheus.GaugeValue, late.Seconds(), s.group, topic)
	}
}

// measureOthers brings the lag of a topic's other readers up to date: of those that its
// retention does not wait for.
func (c *Client) measureOthers(ctx context.Context, t *topic) {
	if len(t.others) == 0 {
		return
	}
	info := t.state()
	bounds, err := c.bounds(ctx, info.Name)
	for i := 0; err == nil && i < len(t.others); i++ {
		err = c.measureOther(ctx, t, t.others[i], info, bounds)
	}
	if err != nil {
		c.log.Debug("the lag of a topic's readers cannot be measured", "topic", t.name, "error", err)
	}
}

func (c *Client) measureOther(
	ctx context.Context, t *topic, group string, info TopicInfo, bounds map[int32]Span,
) error {
	committed, err := c.committed(ctx, group)
	if err != nil {
		return err
	}
	state, err := statesOf(info, bounds, committed)
	if err == nil {
		t.seen.observe(group, state, time.Now())
	}
	return err
}
