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
		"Number of records of the topic that a built-in consumer has not yet committed, by consumer group.",
		readerLabels, nil,
	)
	readerLagAgeDesc = prometheus.NewDesc(
		"livegraph_kafka_reader_lag_seconds",
		"Age of the oldest record of the topic that a built-in consumer has not yet committed, by consumer group, in "+
			"seconds, accurate to about one second. If the record is older than this process, the value is a lower bound.",
		readerLabels, nil,
	)
)

// readerLags contains the lags of the built-in consumers of a topic, as last observed.
type readerLags struct {
	mu   sync.Mutex
	lags []readerLag
}

// readerLag is the lag of a consumer group in records and in time.
type readerLag struct {
	group   string
	records int64
	ages    lagAges
}

// observe updates the lag of a group.
func (r *readerLags) observe(group string, state []PartitionState, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.lags, func(s readerLag) bool { return s.group == group })
	if i < 0 {
		i, r.lags = len(r.lags), append(r.lags, readerLag{group: group})
	}
	s := &r.lags[i]
	s.records = 0
	for _, p := range state {
		s.records += p.lag()
	}
	s.ages.observe(state, at)
}

// collect sends the lag metrics of each group. The lag in time is that of its slowest partition.
func (r *readerLags) collect(topic string, ch chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, s := range r.lags {
		var lagAge time.Duration
		for p := range s.ages.partitions {
			lagAge = max(lagAge, s.ages.age(p, now))
		}
		ch <- prometheus.MustNewConstMetric(readerLagDesc, prometheus.GaugeValue, float64(s.records), s.group, topic)
		ch <- prometheus.MustNewConstMetric(readerLagAgeDesc, prometheus.GaugeValue, lagAge.Seconds(), s.group, topic)
	}
}

// measureOtherGroups updates the lags of the topic's groups whose lag does not limit produces.
func (c *Client) measureOtherGroups(ctx context.Context, t *topic) {
	if len(t.otherGroups) == 0 {
		return
	}
	info := t.state()
	bounds, err := c.bounds(ctx, info.Name)
	for i := 0; err == nil && i < len(t.otherGroups); i++ {
		err = c.measureGroup(ctx, t, t.otherGroups[i], info, bounds)
	}
	if err != nil {
		c.log.Debug("the lag of a topic's readers cannot be measured", "topic", t.name, "error", err)
	}
}

func (c *Client) measureGroup(
	ctx context.Context, t *topic, group string, info TopicInfo, bounds map[int32]Span,
) error {
	committed, err := c.committed(ctx, group)
	if err != nil {
		return err
	}
	state, err := partitionStates(info, bounds, committed)
	if err == nil {
		t.readerLags.observe(group, state, time.Now())
	}
	return err
}
