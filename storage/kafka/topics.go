package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/storage/kafka/secure"
	"github.com/livegraph/livegraph/storage/kafka/topiccheck"
)

// Segment sizes.
const (
	minSegmentBytes      = 4 << 20
	maxSegmentBytes      = 64 << 20
	segmentsPerRetention = 8 // segments in retention.bytes; retention removes whole segments
)

// topicWatchInterval is how often the topics are polled.
const topicWatchInterval = time.Second

// TopicInfo is the state of a topic.
type TopicInfo struct {
	Name       string
	ID         [16]byte // changes when the topic is deleted and created again
	Partitions int32
}

// TopicSettings configures the creation of topics.
type TopicSettings struct {
	Partitions int32 // of points
	// CommandsPartitions is the partition count of graph.commands, which must not change later,
	// and the initial partition count of graph.events and audit. 0: these topics are not created.
	CommandsPartitions int32

	Replication int16 // -1: the brokers' default
	// MinInsyncReplicas is min.insync.replicas. 0: 2 if a topic has at least three replicas, otherwise
	// the brokers' default; -1: the brokers' default.
	MinInsyncReplicas int16
	RetentionBytes    int64 // maximum bytes of each partition; TrimBefore removes records by age

	segmentBytes int64 // segment size; 0: derived from RetentionBytes
}

// partitions returns the initial partition count of a topic; 0: the topic is not created.
func (s *TopicSettings) partitions(t *topic) int32 {
	if t.label == TopicPoints {
		return s.Partitions
	}
	return s.CommandsPartitions
}

// EnsureTopics creates missing Livegraph topics and their dead-letter topics, and starts monitoring
// them. It waits for the brokers until ctx is done. Existing topics are not changed; what CheckTopics
// finds is logged. If the partition count of graph.commands is not the configured one, or topics would
// accept no record, the error is fault.Invalid.
func (c *Client) EnsureTopics(ctx context.Context, s TopicSettings) error {
	var topics []*topic
	for _, t := range c.topics {
		if s.partitions(t) > 0 {
			topics = append(topics, t)
		}
	}
	c.commands.requiredPartitions.Store(s.CommandsPartitions)
	err := c.retry(ctx, "creating the topics", func(ctx context.Context) error {
		for _, t := range topics {
			if err := c.createMissing(ctx, s, t); err != nil {
				return err
			}
			began := time.Now()
			info, err := c.describe(ctx, t)
			if err != nil {
				return err
			}
			if err := c.adopt(ctx, t, info); err != nil {
				return err
			}
			t.observed.Store(began.UnixNano())
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range topics {
		c.compareRetention(ctx, t, s.RetentionBytes)
	}
	c.logFindings(ctx)
	c.watchOnce.Do(func() { c.tasks.Go(c.watchTopics) })
	return nil
}

// FindTopics reads the state of the existing Livegraph topics, so that records can be produced to
// them. It neither creates nor monitors topics: it is for tools that finish before topics change.
func (c *Client) FindTopics(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	for _, t := range c.topics {
		info, err := c.describe(ctx, t)
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			continue
		case err != nil:
			return errRequest("describing "+t.name, err)
		}
		if err := c.adopt(ctx, t, info); err != nil {
			return err
		}
	}
	return nil
}

// topicConfig returns the settings of a new topic. Records are not removed by age: the embedded
// broker starts again at offset 0 once a partition is empty. A segment is at least as large as the
// largest batch.
func topicConfig(s TopicSettings, maxBytes int) map[string]string {
	segment := max(s.segmentBytes, int64(maxBytes))
	if s.segmentBytes == 0 {
		segment = min(max(s.RetentionBytes/segmentsPerRetention, minSegmentBytes, int64(maxBytes)), maxSegmentBytes)
	}
	return map[string]string{
		topiccheck.Cleanup:        "delete",
		topiccheck.Retention:      "-1",
		topiccheck.RetentionBytes: strconv.FormatInt(s.RetentionBytes, 10),
		"segment.bytes":           strconv.FormatInt(segment, 10),
		topiccheck.MaxMessage:     strconv.Itoa(maxBytes),
	}
}

// retry calls try until it succeeds or ctx is done, and then returns the last error that was not
// caused by ctx. It returns errors that a retry does not solve at once.
func (c *Client) retry(ctx context.Context, what string, try func(context.Context) error) error {
	var last error
	waits := retry.New(minRetryBackoff, maxRetryBackoff)
	for attempt := 0; ; attempt++ {
		once, cancel := context.WithTimeout(ctx, adminTimeout)
		err := secure.Explain(try(once))
		cancel()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if fault.Is(err, fault.Invalid) { // a retry does not solve it
			return err
		}
		if refused := (*secure.AccessError)(nil); errors.As(err, &refused) {
			return fmt.Errorf("kafka: %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			if advice := secure.Advice(last); advice != "" {
				return fmt.Errorf("kafka: %s: %w: %s", what, last, advice)
			}
			return fmt.Errorf("kafka: %s: %w", what, last)
		case <-c.ctx.Done():
			return fmt.Errorf("kafka: %s: %w", what, c.ctx.Err())
		case <-time.After(waits.NextBackOff()):
		}
		if attempt == 0 && !errors.Is(err, kerr.UnknownTopicOrPartition) { // the topic was just created
			c.log.Warn("Kafka does not answer yet", "error", err, "advice", secure.Advice(err))
		}
	}
}

// describe reads the state of a topic from the brokers.
func (c *Client) describe(ctx context.Context, t *topic) (TopicInfo, error) {
	meta, err := c.admin.Metadata(ctx, t.name)
	if err != nil {
		return TopicInfo{}, fmt.Errorf("reading metadata: %w", err)
	}
	detail, ok := meta.Topics[t.name]
	switch {
	case !ok:
		return TopicInfo{}, kerr.UnknownTopicOrPartition
	case detail.Err != nil:
		return TopicInfo{}, fmt.Errorf("topic %s: %w", t.name, detail.Err)
	case len(detail.Partitions) == 0 || detail.ID == kadm.TopicID{}:
		return TopicInfo{}, fmt.Errorf("topic %s has no partitions or no id yet", t.name)
	}
	for _, p := range detail.Partitions {
		if p.Leader < 0 {
			return TopicInfo{}, fmt.Errorf("partition %d of %s has no leader", p.Partition, t.name)
		}
	}
	return TopicInfo{Name: t.name, ID: detail.ID, Partitions: int32(len(detail.Partitions))}, nil
}

// adopt calls onChange with a new state of the topic and then makes produces use it.
func (c *Client) adopt(ctx context.Context, t *topic, info TopicInfo) error {
	old := t.state()
	if old == info {
		return nil
	}
	if err := t.check(info); err != nil {
		return err
	}
	if t.onChange != nil {
		if err := t.onChange(ctx, info); err != nil {
			return fmt.Errorf("preparing for topic %s: %w", info.Name, err)
		}
	}
	switch {
	case old.Name == "": // first observed
	case old.ID != info.ID:
		c.log.Error("topic was deleted and created again: its unconsumed records are lost",
			"topic", info.Name, "oldId", kadm.TopicID(old.ID).String(), "newId", kadm.TopicID(info.ID).String())
		t.producer.PurgeTopicsFromProducing(info.Name) // franz-go never adopts a new id by itself
	default:
		c.log.Info(
			"topic has a new number of partitions", "topic", info.Name, "old", old.Partitions, "new", info.Partitions,
		)
		t.producer.ForceMetadataRefresh()
	}
	t.info.Store(&info)
	c.groups.Range(func(g, _ any) bool {
		g.(*Group).client.ForceMetadataRefresh() // franz-go would refresh it only occasionally
		return true
	})
	return nil
}

// watchTopics polls the topics in use until the client is closed.
func (c *Client) watchTopics() {
	tick := time.NewTicker(topicWatchInterval)
	defer tick.Stop()
	missing := map[*topic]bool{}
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		for _, t := range c.topics {
			if !c.Healthy() {
				break
			}
			if t.state().Partitions == 0 {
				continue
			}
			gone := c.pollTopic(t)
			if gone && !missing[t] {
				c.log.Error("topic no longer exists; it is not created again while the process runs", "topic", t.name)
			}
			missing[t] = gone
		}
	}
}

// pollTopic updates the state of a topic and reports whether it no longer exists.
func (c *Client) pollTopic(t *topic) (gone bool) {
	ctx, cancel := context.WithTimeout(c.ctx, adminTimeout)
	defer cancel()
	began := time.Now()
	info, err := c.describe(ctx, t)
	if err != nil {
		return errors.Is(err, kerr.UnknownTopicOrPartition)
	}
	if err := c.adopt(ctx, t, info); err != nil {
		c.log.Error("a change of the topic cannot take effect", "error", err)
	} else {
		t.observed.Store(began.UnixNano())
	}
	if t.group != "" {
		c.measureFill(ctx, t)
	}
	c.measureOtherGroups(ctx, t)
	if t.polls++; t.polls%trimEvery == 0 {
		c.boundRecords(ctx, t)
	}
	return false
}

// compareRetention logs topics with another retention.bytes than configured, and sets that of the
// topic's fill.
func (c *Client) compareRetention(ctx context.Context, t *topic, configured int64) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	described, err := c.admin.DescribeTopicConfigs(ctx, t.name, t.deadLetterTopic())
	if err != nil {
		c.log.Warn("the topics' settings cannot be read", "error", err)
		return
	}
	for _, d := range described {
		for _, have := range d.Configs {
			if have.Key != topiccheck.RetentionBytes {
				continue
			}
			if have.MaybeValue() != strconv.FormatInt(configured, 10) {
				c.log.Warn("an existing topic has another setting than configured; it is not changed",
					"topic", d.Name, "setting", have.Key, "has", have.MaybeValue(), "configured", configured)
			}
			if d.Name == t.name {
				t.fill.setRetention(have.MaybeValue())
			}
		}
	}
}

// logFindings logs a warning for each finding about the topics.
func (c *Client) logFindings(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	report, err := CheckTopics(ctx, c.admin, c.opts.TopicPrefix)
	if err != nil {
		c.log.Warn("the topics cannot be checked", "error", err)
		return
	}
	for _, f := range report.Findings {
		c.log.Warn(f.Detail, "topics", f.Topics, "advice", f.Advice)
	}
}
