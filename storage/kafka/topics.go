package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Names of the topics, without the configured prefix.
const (
	pointsTopic      = "points"
	deadLetterSuffix = ".dlq"
)

// Sizes of the topics. A dead letter is a whole record and the story of its
// failure, so its topic takes larger ones.
const (
	pointsMaxBytes      = 1<<20 + 12 // Kafka's own default, said aloud
	deadLettersMaxBytes = 2 << 20
	minSegmentBytes     = 4 << 20
	maxSegmentBytes     = 64 << 20
	segmentsKept        = 8 // segments in retention.bytes: what one trim may take at once
)

// topicWatchInterval is how often the topic is looked at.
const topicWatchInterval = time.Second

// TopicInfo is the state of a topic.
type TopicInfo struct {
	Name       string
	ID         [16]byte // another one after the topic was deleted and created again
	Partitions int32
}

// TopicSettings say how topics are made that do not exist yet.
type TopicSettings struct {
	Partitions     int32
	Replication    int16 // -1: the broker's default
	RetentionBytes int64 // kept of each partition; records go by size, never by age
}

// PointsTopic gives the state of topic points: what ProducePoints goes by. It is
// the zero value before EnsureTopics.
func (c *Client) PointsTopic() TopicInfo {
	if info := c.topic.Load(); info != nil {
		return *info
	}
	return TopicInfo{}
}

// Partitions gives the partition count of topic points.
func (c *Client) Partitions() int32 { return c.PointsTopic().Partitions }

// pointsName and deadLettersName give the topics' full names.
func (c *Client) pointsName() string      { return c.opts.TopicPrefix + pointsTopic }
func (c *Client) deadLettersName() string { return c.pointsName() + deadLetterSuffix }

// batchMaxBytes is the largest record batch of a topic.
func (o *Options) batchMaxBytes(topic string) int32 {
	if topic == o.TopicPrefix+pointsTopic+deadLetterSuffix {
		return deadLettersMaxBytes
	}
	return 1 << 20
}

// EnsureTopics creates the topics points and points.dlq where they are missing,
// waiting for the brokers as long as ctx allows, and begins to watch points. A
// topic that exists stays as it is; a setting that differs is logged.
func (c *Client) EnsureTopics(ctx context.Context, s TopicSettings) error {
	configs := map[string]map[string]string{
		c.pointsName():      topicConfig(s, pointsMaxBytes),
		c.deadLettersName(): topicConfig(s, deadLettersMaxBytes),
	}
	err := c.untilDone(ctx, "making the topics", func(ctx context.Context) error {
		if err := c.createMissing(ctx, s, configs); err != nil {
			return err
		}
		info, err := c.describePoints(ctx)
		if err != nil {
			return err
		}
		return c.adopt(ctx, info)
	})
	if err != nil {
		return err
	}
	c.compareConfigs(ctx, configs)
	c.watch.Do(func() { c.tasks.Go(c.watchTopic) })
	return nil
}

// topicConfig gives the settings of a topic that we make. Age never removes a
// record: the embedded broker begins again at offset 0 once a partition is empty.
func topicConfig(s TopicSettings, maxBytes int) map[string]string {
	segment := min(max(s.RetentionBytes/segmentsKept, minSegmentBytes), maxSegmentBytes)
	return map[string]string{
		"cleanup.policy":    "delete",
		"retention.ms":      "-1",
		"retention.bytes":   strconv.FormatInt(s.RetentionBytes, 10),
		"segment.bytes":     strconv.FormatInt(segment, 10),
		"max.message.bytes": strconv.Itoa(maxBytes),
	}
}

// untilDone tries until it works or ctx ends, and then gives the last failure that
// is not that end itself. What trying again does not cure it gives at once.
func (c *Client) untilDone(ctx context.Context, what string, try func(context.Context) error) error {
	var last error
	for tries := 0; ; tries++ {
		once, cancel := context.WithTimeout(ctx, adminTimeout)
		err := Explain(try(once))
		cancel()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if refused := (*Refused)(nil); errors.As(err, &refused) {
			return fmt.Errorf("kafka: %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			if advice := Advice(last); advice != "" {
				return fmt.Errorf("kafka: %s: %w: %s", what, last, advice)
			}
			return fmt.Errorf("kafka: %s: %w", what, last)
		case <-c.ctx.Done():
			return fmt.Errorf("kafka: %s: %w", what, c.ctx.Err())
		case <-time.After(backoff(tries)):
		}
		if tries == 0 && !errors.Is(err, kerr.UnknownTopicOrPartition) { // that one was made just now
			c.log.Warn("Kafka does not answer yet", "error", err, "advice", Advice(err))
		}
	}
}

func (c *Client) createMissing(ctx context.Context, s TopicSettings, configs map[string]map[string]string) error {
	have, err := c.admin.ListTopics(ctx, c.pointsName(), c.deadLettersName())
	if err != nil {
		return fmt.Errorf("listing topics: %w", err)
	}
	for _, name := range []string{c.pointsName(), c.deadLettersName()} {
		if have.Has(name) {
			continue
		}
		settings := map[string]*string{}
		for key, value := range configs[name] {
			settings[key] = &value
		}
		_, err := c.admin.CreateTopic(ctx, s.Partitions, s.Replication, settings, name)
		switch {
		case err == nil:
			c.log.Info("topic created", "topic", name, "partitions", s.Partitions, "retentionBytes", s.RetentionBytes)
		case !errors.Is(err, kerr.TopicAlreadyExists): // by another process, just now
			return fmt.Errorf("creating topic %s: %w", name, err)
		}
	}
	return nil
}

// describePoints asks the brokers for the state of topic points.
func (c *Client) describePoints(ctx context.Context) (TopicInfo, error) {
	meta, err := c.admin.Metadata(ctx, c.pointsName())
	if err != nil {
		return TopicInfo{}, fmt.Errorf("reading metadata: %w", err)
	}
	detail, ok := meta.Topics[c.pointsName()]
	switch {
	case !ok:
		return TopicInfo{}, kerr.UnknownTopicOrPartition
	case detail.Err != nil:
		return TopicInfo{}, fmt.Errorf("topic %s: %w", c.pointsName(), detail.Err)
	case len(detail.Partitions) == 0 || detail.ID == kadm.TopicID{}:
		return TopicInfo{}, fmt.Errorf("topic %s has no partitions or no id yet", c.pointsName())
	}
	for _, p := range detail.Partitions {
		if p.Leader < 0 {
			return TopicInfo{}, fmt.Errorf("partition %d of %s has no leader", p.Partition, c.pointsName())
		}
	}
	return TopicInfo{Name: c.pointsName(), ID: detail.ID, Partitions: int32(len(detail.Partitions))}, nil
}

// adopt makes a state of the topic the one that ProducePoints goes by, after
// OnTopicChange has heard of it.
func (c *Client) adopt(ctx context.Context, info TopicInfo) error {
	old := c.PointsTopic()
	if old == info {
		return nil
	}
	if c.opts.OnTopicChange != nil {
		if err := c.opts.OnTopicChange(ctx, info); err != nil {
			return fmt.Errorf("preparing for topic %s: %w", info.Name, err)
		}
	}
	switch {
	case old.Name == "": // first sight
	case old.ID != info.ID:
		c.log.Error("topic was deleted and created again: what was in it and not yet consumed is lost",
			"topic", info.Name, "oldId", kadm.TopicID(old.ID).String(), "newId", kadm.TopicID(info.ID).String())
		c.producer.PurgeTopicsFromProducing(info.Name) // franz-go never adopts a new id by itself
	default:
		c.log.Info("topic has another number of partitions", "topic", info.Name, "old", old.Partitions, "new", info.Partitions)
		c.producer.ForceMetadataRefresh()
	}
	c.topic.Store(&info)
	c.members.Range(func(g, _ any) bool {
		g.(*Group).client.ForceMetadataRefresh() // it would look by itself only now and then
		return true
	})
	return nil
}

// watchTopic looks at topic points until the client is closed.
func (c *Client) watchTopic() {
	tick := time.NewTicker(topicWatchInterval)
	defer tick.Stop()
	missing := false
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		if !c.Healthy() {
			continue
		}
		ctx, cancel := context.WithTimeout(c.ctx, adminTimeout)
		info, err := c.describePoints(ctx)
		if err == nil {
			if err = c.adopt(ctx, info); err != nil {
				c.log.Error("a change of the topic cannot take effect", "error", err)
			}
			c.measureFill(ctx)
		}
		cancel()
		if gone := errors.Is(err, kerr.UnknownTopicOrPartition); gone != missing {
			missing = gone
			if gone {
				c.log.Error("topic is gone; it is not made again while the process runs", "topic", c.pointsName())
			}
		}
	}
}

// compareConfigs logs where an existing topic is not as we would make it.
func (c *Client) compareConfigs(ctx context.Context, want map[string]map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	described, err := c.admin.DescribeTopicConfigs(ctx, c.pointsName(), c.deadLettersName())
	if err != nil {
		c.log.Warn("the topics' settings cannot be read", "error", err)
		return
	}
	for _, topic := range described {
		slices.SortFunc(topic.Configs, func(a, b kadm.Config) int { return cmp.Compare(a.Key, b.Key) })
		for _, have := range topic.Configs {
			expected, ours := want[topic.Name][have.Key]
			if ours && have.MaybeValue() != expected {
				c.log.Warn("an existing topic has another setting than configured; it stays",
					"topic", topic.Name, "setting", have.Key, "has", have.MaybeValue(), "configured", expected)
			}
			if have.Key == "retention.bytes" && topic.Name == c.pointsName() {
				c.fill.setRetention(have.MaybeValue())
			}
		}
	}
}
