package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka/secure"
)

// Limits of one read of a backup.
const (
	backupFetchBytes = 8 << 20
	backupRecords    = 500
)

// ReadSpans reads ranges of a topic, given by its full name, and calls each for every record. It
// returns an error if the log no longer contains all of them.
func (c *Client) ReadSpans(
	ctx context.Context, topic string, spans map[int32]Span, each func(*kgo.Record) error,
) error {
	assignment, err := c.Assign(AssignOptions{Topic: topic, Name: "backup", Spans: spans, FetchBytes: backupFetchBytes})
	if err != nil {
		return err
	}
	defer assignment.Close()
	for {
		records, err := assignment.Poll(ctx, backupRecords)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("kafka: reading %s: %w", topic, secure.Explain(err))
		}
		for _, r := range records {
			if err := each(r); err != nil {
				return err
			}
		}
	}
	for p, span := range spans {
		if n := assignment.Trimmed(p, span.To); n > 0 {
			return fmt.Errorf("kafka: retention removed %d records of partition %d of %s before they were read; "+
				"the consumer is too far behind, or the log keeps too little", n, p, topic)
		}
	}
	return nil
}

// RequireEmpty returns fault.Conflict if a Livegraph topic has ever contained records, or if its
// partition count differs from that of partitions, which is keyed by topic label.
func (c *Client) RequireEmpty(ctx context.Context, partitions map[string]int32) error {
	topics, err := c.Overviews(ctx)
	if err != nil {
		return err
	}
	for i := range topics {
		t := &topics[i]
		for _, p := range t.Partitions {
			if p.End > 0 {
				return fault.Newf(
					fault.Conflict, "Kafka is not empty: topic %s has had records. A restore requires empty stores",
					t.Name,
				)
			}
		}
		if want, known := partitions[t.Label]; known && want != int32(len(t.Partitions)) {
			return fault.Newf(
				fault.Conflict, "topic %s has %d partitions, but %d in the backup: delete it, so that the restore creates it",
				t.Name, len(t.Partitions), want,
			)
		}
	}
	return nil
}

// Restore writes records to a Livegraph topic or its dead-letter topic, named without the prefix.
// It keeps each record's partition and timestamp, and sets its new offset. It waits until all are
// acknowledged.
func (c *Client) Restore(ctx context.Context, label string, records []*kgo.Record) error {
	origin, isDeadLetters := IsDeadLetters(label)
	t := c.topicOf(origin)
	if t == nil {
		return errUnknownTopic(label)
	}
	name := t.name
	if isDeadLetters {
		name = t.deadLetterTopic()
	}
	for _, r := range records {
		r.Topic = name
	}
	if err := t.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("kafka: filling %s: %w", name, secure.Explain(err))
	}
	return nil
}
