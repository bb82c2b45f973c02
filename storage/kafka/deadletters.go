package kafka

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// DeadLetter is a record that cannot be processed, and why.
type DeadLetter struct {
	Record  *kgo.Record // as it was consumed
	Version uint64      // points: the version that they would have had
	Reason  string
}

// maxReasonBytes bounds the text of a dead letter's reason.
const maxReasonBytes = 2048

// ProduceDeadLetters puts the records, all of one topic of ours, into that of its
// dead letters, key and value as they were, and waits for the acknowledgement of all. An error means that
// some may not be there; to repeat the call is safe except for duplicates.
func (c *Client) ProduceDeadLetters(ctx context.Context, letters []DeadLetter) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.ProduceTimeout+requestOverhead)
	defer cancel()
	if len(letters) == 0 {
		return nil
	}
	t := c.topicOf(letters[0].Record.Topic)
	if t == nil {
		return errUnknownTopic(letters[0].Record.Topic)
	}
	partitions, err := c.deadLetterPartitions(ctx, t)
	if err != nil {
		return err
	}
	records := make([]*kgo.Record, 0, len(letters))
	for _, l := range letters {
		records = append(records, &kgo.Record{
			Topic: t.deadLetters(), Partition: l.Record.Partition % partitions,
			Key: l.Record.Key, Value: l.Record.Value, Headers: l.headers(t == c.points),
		})
	}
	if err := t.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("kafka: producing dead letters: %w", err)
	}
	c.metrics.letters.WithLabelValues(t.label).Add(float64(len(letters)))
	return nil
}

// deadLetterPartitions returns how many partitions the topic of dead letters has. It waits
// for a topic that was made just now: not every broker may know of it yet.
func (c *Client) deadLetterPartitions(ctx context.Context, t *topic) (n int32, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	name := t.deadLetters()
	err = c.untilDone(ctx, "describing "+name, func(ctx context.Context) error {
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

func (l *DeadLetter) headers(versioned bool) []kgo.RecordHeader {
	reason := l.Reason[:min(len(l.Reason), maxReasonBytes)]
	headers := []kgo.RecordHeader{
		{Key: HeaderError, Value: []byte(reason)},
		{Key: HeaderTopic, Value: []byte(l.Record.Topic)},
		{Key: HeaderPartition, Value: strconv.AppendInt(nil, int64(l.Record.Partition), 10)},
		{Key: HeaderOffset, Value: strconv.AppendInt(nil, l.Record.Offset, 10)},
		{Key: HeaderRequestID, Value: Header(l.Record, HeaderRequestID)},
	}
	if versioned {
		headers = append(headers, kgo.RecordHeader{Key: HeaderVersion, Value: strconv.AppendUint(nil, l.Version, 10)})
	}
	for _, name := range []string{HeaderTrace, HeaderTraceState} {
		if value := Header(l.Record, name); value != nil {
			headers = append(headers, kgo.RecordHeader{Key: name, Value: value})
		}
	}
	return headers
}
