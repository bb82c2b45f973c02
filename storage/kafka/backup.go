package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Bounds of what is read and written at once for a backup.
const (
	backupFetchBytes = 8 << 20
	backupRecords    = 500
)

// ReadSpans reads ranges of a topic, by its full name, from their beginnings to their
// ends. It fails when the log has not all of them any more.
func (c *Client) ReadSpans(
	ctx context.Context, topic string, spans map[int32]Span, each func(*kgo.Record) error,
) error {
	reading, err := c.Assign(AssignOptions{Topic: topic, Name: "backup", Spans: spans, FetchBytes: backupFetchBytes})
	if err != nil {
		return err
	}
	defer reading.Close()
	for {
		records, err := reading.Poll(ctx, backupRecords)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("kafka: reading %s: %w", topic, Explain(err))
		}
		for _, r := range records {
			if err := each(r); err != nil {
				return err
			}
		}
	}
	for p, span := range spans {
		if n := reading.Trimmed(p, span.To); n > 0 {
			return fmt.Errorf("kafka: retention took %d records of partition %d of %s before they were read; "+
				"the consumer is too far behind, or the log keeps too little", n, p, topic)
		}
	}
	return nil
}

// RequireEmpty refuses brokers with records in any of our topics, fault.Conflict, and
// those whose topics have other numbers of partitions than wanted, by label.
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
					fault.Conflict, "Kafka is not empty: topic %s has had records. A restore wants stores that nothing was written to",
					t.Name,
				)
			}
		}
		if want, known := partitions[t.Label]; known && want != int32(len(t.Partitions)) {
			return fault.Newf(
				fault.Conflict, "topic %s has %d partitions, and that of the backup %d: delete it, so that the restore makes it",
				t.Name, len(t.Partitions), want,
			)
		}
	}
	return nil
}

// Refill writes records into one of our topics, or one of dead letters, named without
// the prefix: each to its partition and with its time, and sets the offset that it has
// now. It waits for the acknowledgement of all.
func (c *Client) Refill(ctx context.Context, label string, records []*kgo.Record) error {
	origin, dead := IsDeadLetters(label)
	t := c.topicOf(origin)
	if t == nil {
		return errUnknownTopic(label)
	}
	name := t.name
	if dead {
		name = t.deadLetters()
	}
	for _, r := range records {
		r.Topic = name
	}
	if err := t.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("kafka: filling %s: %w", name, Explain(err))
	}
	return nil
}
