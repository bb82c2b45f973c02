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

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Sizes of the topics.
const (
	minSegmentBytes = 4 << 20
	maxSegmentBytes = 64 << 20
	segmentsKept    = 8 // segments in retention.bytes: what one trim may take at once
)

// topicWatchInterval is how often the topics are looked at.
const topicWatchInterval = time.Second

// TopicInfo is the state of a topic.
type TopicInfo struct {
	Name       string
	ID         [16]byte // another one after the topic was deleted and created again
	Partitions int32
}

// TopicSettings say how topics are made that do not exist yet.
type TopicSettings struct {
	Partitions int32 // of points
	// CommandsPartitions is the number of partitions of graph.commands, which must
	// not be another one later, and that with which graph.events and audit are made.
	// 0: these topics are left alone.
	CommandsPartitions int32

	Replication    int16 // -1: the broker's default
	RetentionBytes int64 // kept of each partition; by age TrimBefore removes them

	segmentBytes int64 // of segments; 0: by what is kept
}

// partitions returns with how many partitions a topic is made; 0: not at all.
func (s *TopicSettings) partitions(t *topic) int32 {
	if t.label == TopicPoints {
		return s.Partitions
	}
	return s.CommandsPartitions
}

// EnsureTopics creates our topics and those of their dead letters where they are
// missing, waiting for the brokers as long as ctx allows, and begins to watch them.
// A topic that exists stays as it is; a setting that differs is logged. Only the
// partition count of graph.commands must be as configured: fault.Invalid else.
func (c *Client) EnsureTopics(ctx context.Context, s TopicSettings) error {
	var made []*topic
	for _, t := range c.topics {
		if s.partitions(t) > 0 {
			made = append(made, t)
		}
	}
	c.commands.fixed.Store(s.CommandsPartitions)
	err := c.untilDone(ctx, "making the topics", func(ctx context.Context) error {
		for _, t := range made {
			if err := c.createMissing(ctx, s, t); err != nil {
				return err
			}
			asked := time.Now()
			info, err := c.describe(ctx, t)
			if err != nil {
				return err
			}
			if err := c.adopt(ctx, t, info); err != nil {
				return err
			}
			t.asked.Store(asked.UnixNano())
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range made {
		c.compareConfigs(ctx, t, t.configs(s))
	}
	c.watch.Do(func() { c.tasks.Go(c.watchTopics) })
	return nil
}

// FindTopics learns which of our topics are there, to produce to them. It makes none and
// watches none: a tool beside the service is done before they change.
func (c *Client) FindTopics(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	for _, t := range c.topics {
		info, err := c.describe(ctx, t)
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			continue
		case err != nil:
			return errAsking("describing "+t.name, err)
		}
		if err := c.adopt(ctx, t, info); err != nil {
			return err
		}
	}
	return nil
}

// topicConfig returns the settings of a topic that we make. Age never removes a
// record: the embedded broker begins again at offset 0 once a partition is empty.
// A segment holds at least one batch of the largest.
func topicConfig(s TopicSettings, maxBytes int) map[string]string {
	segment := max(s.segmentBytes, int64(maxBytes))
	if s.segmentBytes == 0 {
		segment = min(max(s.RetentionBytes/segmentsKept, minSegmentBytes, int64(maxBytes)), maxSegmentBytes)
	}
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
		if fault.Is(err, fault.Invalid) { // trying again does not cure it
			return err
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

func (c *Client) createMissing(ctx context.Context, s TopicSettings, t *topic) error {
	have, err := c.admin.Metadata(ctx, t.name, t.deadLetters())
	if err != nil {
		return fmt.Errorf("listing topics: %w", err)
	}
	if c.opts.BatchesInMemory {
		s.segmentBytes = smallSegment
	}
	configs := t.configs(s)
	for _, name := range []string{t.name, t.deadLetters()} {
		if have.Topics.Has(name) {
			continue
		}
		settings := map[string]*string{}
		for key, value := range configs[name] {
			settings[key] = &value
		}
		_, err := c.admin.CreateTopic(ctx, s.partitions(t), s.Replication, settings, name)
		switch {
		case err == nil:
			c.log.Info("topic created", "topic", name, "partitions", s.partitions(t), "retentionBytes", s.RetentionBytes)
		case !errors.Is(err, kerr.TopicAlreadyExists): // by another process, just now
			return fmt.Errorf("creating topic %s: %w", name, err)
		}
	}
	return nil
}

// describe asks the brokers for the state of a topic.
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

// adopt makes a state of the topic the one that produces go by, after onChange has
// heard of it.
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
	case old.Name == "": // first sight
	case old.ID != info.ID:
		c.log.Error("topic was deleted and created again: what was in it and not yet consumed is lost",
			"topic", info.Name, "oldId", kadm.TopicID(old.ID).String(), "newId", kadm.TopicID(info.ID).String())
		t.producer.PurgeTopicsFromProducing(info.Name) // franz-go never adopts a new id by itself
	default:
		c.log.Info(
			"topic has another number of partitions", "topic", info.Name, "old", old.Partitions, "new", info.Partitions,
		)
		t.producer.ForceMetadataRefresh()
	}
	t.info.Store(&info)
	c.members.Range(func(g, _ any) bool {
		g.(*Group).client.ForceMetadataRefresh() // it would look by itself only now and then
		return true
	})
	return nil
}

// watchTopics looks at the topics that are made until the client is closed.
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
			gone := c.lookAt(t)
			if gone && !missing[t] {
				c.log.Error("topic is gone; it is not made again while the process runs", "topic", t.name)
			}
			missing[t] = gone
		}
	}
}

// lookAt brings what is known of a topic up to date, and reports whether the
// brokers do not have it.
func (c *Client) lookAt(t *topic) (gone bool) {
	ctx, cancel := context.WithTimeout(c.ctx, adminTimeout)
	defer cancel()
	asked := time.Now()
	info, err := c.describe(ctx, t)
	if err != nil {
		return errors.Is(err, kerr.UnknownTopicOrPartition)
	}
	if err := c.adopt(ctx, t, info); err != nil {
		c.log.Error("a change of the topic cannot take effect", "error", err)
	} else {
		t.asked.Store(asked.UnixNano())
	}
	if t.group != "" {
		c.measureFill(ctx, t)
	}
	c.measureOthers(ctx, t)
	if t.looks++; t.looks%trimEvery == 0 {
		c.boundRecords(ctx, t)
	}
	return false
}

// compareConfigs logs where an existing topic is not as we would make it.
func (c *Client) compareConfigs(ctx context.Context, t *topic, want map[string]map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	described, err := c.admin.DescribeTopicConfigs(ctx, t.name, t.deadLetters())
	if err != nil {
		c.log.Warn("the topics' settings cannot be read", "error", err)
		return
	}
	for _, d := range described {
		slices.SortFunc(d.Configs, func(a, b kadm.Config) int { return cmp.Compare(a.Key, b.Key) })
		for _, have := range d.Configs {
			expected, ours := want[d.Name][have.Key]
			if ours && have.MaybeValue() != expected && have.Key != "segment.bytes" { // follows from others
				c.log.Warn("an existing topic has another setting than configured; it stays",
					"topic", d.Name, "setting", have.Key, "has", have.MaybeValue(), "configured", expected)
			}
			if have.Key == "retention.bytes" && d.Name == t.name {
				t.fill.setRetention(have.MaybeValue())
			}
		}
	}
}
