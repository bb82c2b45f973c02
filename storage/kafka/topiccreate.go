package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka/topiccheck"
)

// createMissing creates a topic and its dead-letter topic if they do not exist.
func (c *Client) createMissing(ctx context.Context, s TopicSettings, t *topic) error {
	have, err := c.admin.Metadata(ctx, t.name, t.deadLetterTopic())
	if err != nil {
		return fmt.Errorf("listing topics: %w", err)
	}
	if c.opts.BatchesInMemory {
		s.segmentBytes = inMemorySegmentBytes
	}
	configs := t.configs(s)
	for _, name := range []string{t.name, t.deadLetterTopic()} {
		if have.Topics.Has(name) {
			continue
		}
		if err := c.create(ctx, s, s.partitions(t), name, configs[name]); err != nil {
			return err
		}
	}
	return nil
}

// create creates a topic, unless another process has just created it.
func (c *Client) create(
	ctx context.Context, s TopicSettings, partitions int32, name string, configs map[string]string,
) error {
	configs = maps.Clone(configs)
	if err := c.addMinInsync(ctx, s, partitions, name, configs); err != nil {
		return err
	}
	_, err := c.admin.CreateTopic(ctx, partitions, s.Replication, pointers(configs), name)
	switch {
	case err == nil:
		c.log.Info("topic created", "topic", name, "partitions", partitions, "retentionBytes", s.RetentionBytes,
			"minInsyncReplicas", configs[topiccheck.MinInsync])
	case !errors.Is(err, kerr.TopicAlreadyExists):
		return fmt.Errorf("creating topic %s: %w", name, err)
	}
	return nil
}

// addMinInsync adds min.insync.replicas to the settings of a new topic, unless the brokers' default
// applies. The brokers are asked how many replicas the topic would have, because only they know their
// default. A single broker without replicas, as in the embedded edition, is not asked.
func (c *Client) addMinInsync(
	ctx context.Context, s TopicSettings, partitions int32, name string, configs map[string]string,
) error {
	if s.MinInsyncReplicas < 0 || s.MinInsyncReplicas == 0 && c.opts.BatchesInMemory {
		return nil
	}
	planned, err := c.admin.ValidateCreateTopics(ctx, partitions, s.Replication, pointers(configs), name)
	if err != nil {
		return fmt.Errorf("validating the settings of topic %s: %w", name, err)
	}
	topic := planned[name]
	if topic.Err != nil {
		if errors.Is(topic.Err, kerr.TopicAlreadyExists) {
			return nil
		}
		return fmt.Errorf("validating the settings of topic %s: %w", name, topic.Err)
	}
	replicas := max(topic.ReplicationFactor, s.Replication) // -1 if the user must not read it
	if replicas > 0 && s.MinInsyncReplicas > replicas {
		return fault.Newf(
			fault.Invalid, "topic %s would have %d replicas, and accept no record with min.insync.replicas=%d: "+
				"raise --kafka-replication, or lower --kafka-min-insync-replicas", name, replicas, s.MinInsyncReplicas,
		)
	}
	byDefault := topiccheck.Number(topic.Configs[topiccheck.MinInsync], 1)
	switch {
	case s.MinInsyncReplicas > 0:
		configs[topiccheck.MinInsync] = strconv.Itoa(int(s.MinInsyncReplicas))
	case replicas >= topiccheck.ManyReplicas && byDefault < topiccheck.SafeInsync:
		configs[topiccheck.MinInsync] = strconv.Itoa(topiccheck.SafeInsync)
	}
	return nil
}

// pointers returns settings as kadm accepts them.
func pointers(configs map[string]string) map[string]*string {
	settings := map[string]*string{}
	for key, value := range configs {
		settings[key] = &value
	}
	return settings
}
