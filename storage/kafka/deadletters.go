package kafka

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka/tracecontext"
)

// DeadLetter is a record that cannot be processed, with the reason.
type DeadLetter struct {
	Record  *kgo.Record // as it was consumed
	Version uint64      // of points: the version that they would have been stored with
	Reason  string
}

// maxReasonBytes limits the length of a dead letter's reason.
const maxReasonBytes = 2048

// ProduceDeadLetters writes records, all of one Livegraph topic, to its dead-letter topic with
// unchanged keys and values, and waits until all are acknowledged. After an error some may not be
// there. The call may be repeated, but may create duplicates.
func (c *Client) ProduceDeadLetters(ctx context.Context, deadLetters []DeadLetter) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.ProduceTimeout+requestOverhead)
	defer cancel()
	if len(deadLetters) == 0 {
		return nil
	}
	t := c.topicOf(deadLetters[0].Record.Topic)
	if t == nil {
		return errUnknownTopic(deadLetters[0].Record.Topic)
	}
	partitions, err := c.deadLetterPartitions(ctx, t)
	if err != nil {
		return err
	}
	records := make([]*kgo.Record, 0, len(deadLetters))
	for _, d := range deadLetters {
		records = append(records, &kgo.Record{
			Topic: t.deadLetterTopic(), Partition: d.Record.Partition % partitions,
			Key: d.Record.Key, Value: d.Record.Value, Headers: d.headers(t == c.points),
		})
	}
	if err := t.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("kafka: producing dead letters: %w", err)
	}
	c.metrics.deadLetters.WithLabelValues(t.label).Add(float64(len(deadLetters)))
	return nil
}

// deadLetterPartitions returns the partition count of a dead-letter topic. It retries while the
// topic is unknown: not every broker has the metadata of a topic that was just created.
func (c *Client) deadLetterPartitions(ctx context.Context, t *topic) (n int32, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name := t.deadLetterTopic()
	err = c.retry(ctx, "describing "+name, func(ctx context.Context) error {
		topics, err := c.admin.ListTopics(ctx, name)
		if err != nil {
			return err
		}
		if n = int32(len(topics[name].Partitions)); n == 0 {
			return kerr.UnknownTopicOrPartition
		}
		return nil
	})
	return n, err
}

func (d *DeadLetter) headers(versioned bool) []kgo.RecordHeader {
	reason := d.Reason[:min(len(d.Reason), maxReasonBytes)]
	headers := []kgo.RecordHeader{
		{Key: HeaderError, Value: []byte(reason)},
		{Key: HeaderTopic, Value: []byte(d.Record.Topic)},
		{Key: HeaderPartition, Value: strconv.AppendInt(nil, int64(d.Record.Partition), 10)},
		{Key: HeaderOffset, Value: strconv.AppendInt(nil, d.Record.Offset, 10)},
		{Key: HeaderRequestID, Value: Header(d.Record, HeaderRequestID)},
	}
	if versioned {
		headers = append(headers, kgo.RecordHeader{Key: HeaderVersion, Value: strconv.AppendUint(nil, d.Version, 10)})
	}
	for _, name := range []string{tracecontext.Parent, tracecontext.State} {
		if value := Header(d.Record, name); value != nil {
			headers = append(headers, kgo.RecordHeader{Key: name, Value: value})
		}
	}
	return headers
}
