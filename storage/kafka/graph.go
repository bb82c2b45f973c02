package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/fault"
	"github.com/livegraph/livegraph/internal/tracing"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Record is one of a workspace's records on a topic of the graph. All of a
// workspace are in one partition, in the order in which they were acknowledged.
type Record struct {
	Workspace uuid.UUID // its 16 bytes are the key
	Value     []byte
	RequestID string // of the request that caused it
	ReplyTo   string // on commands: the process that waits for the outcome; empty: none
}

// WorkspacePartition is the partition of a workspace's records: that of Kafka's
// default partitioner for the workspace's 16 bytes as the key.
func WorkspacePartition(workspace uuid.UUID, partitions int32) int32 {
	return pointblock.Partition(workspace, partitions)
}

// ProduceCommand puts a record into graph.commands and waits until all in-sync
// replicas have it, ProduceTimeout at most. An error is fault.Unavailable with a
// Retry-After, at once when it is hopeless (see ProducePoints); the record may then
// be in the log all the same. The value must not be written again.
func (c *Client) ProduceCommand(ctx context.Context, record Record) error {
	return c.produceGraph(ctx, c.commands, MaxCommandBytes, []Record{record}, c.produceOnce)
}

// ProduceEvents puts records into graph.events and waits until all in-sync replicas
// have them. A workspace's records are then there in their order. After an error
// some of the first may be there, but none without all those of its workspace before
// it; to repeat the call is safe but for duplicates. Only one call at a time may
// have records of a workspace.
//
// So that none can go ahead of one that fails, a partition's records are one batch
// at a time, which is there as a whole or not at all: they are gathered while
// nothing is sent, and the next are gathered when their fate is known, whatever
// becomes of ctx.
func (c *Client) ProduceEvents(ctx context.Context, records []Record) error {
	return c.produceGraph(ctx, c.events, MaxEventBytes, records, c.produceInOrder)
}

type producing func(ctx context.Context, t *topic, records []kgo.Record) error

func (c *Client) produceGraph(ctx context.Context, t *topic, largest int, records []Record, produce producing) error {
	if len(records) == 0 {
		return nil
	}
	ctx, span := c.startSend(ctx, t, len(records))
	out, err := t.records(ctx, largest, records)
	if err == nil {
		err = produce(ctx, t, out)
	}
	tracing.End(span, err)
	return err
}

// records makes franz-go's records, each in its partition.
func (t *topic) records(ctx context.Context, largest int, records []Record) ([]kgo.Record, error) {
	partitions := t.state().Partitions
	if partitions == 0 {
		return nil, errAway().Because(fmt.Errorf("topic %s is not made yet", t.name))
	}
	out := make([]kgo.Record, len(records))
	for i, r := range records {
		headers := withTrace(ctx, []kgo.RecordHeader{{Key: HeaderRequestID, Value: []byte(r.RequestID)}})
		if r.ReplyTo != "" {
			headers = append(headers, kgo.RecordHeader{Key: HeaderReplyTo, Value: []byte(r.ReplyTo)})
		}
		out[i] = kgo.Record{
			Topic: t.name, Partition: WorkspacePartition(r.Workspace, partitions),
			Key: r.Workspace[:], Value: r.Value, Headers: headers,
		}
		size := len(r.Workspace) + len(r.Value)
		for _, h := range headers {
			size += len(h.Key) + len(h.Value)
		}
		if size > largest {
			return nil, fault.New(fault.Internal, "A record is larger than the log takes").
				Because(fmt.Errorf("a record of %s has %d bytes, at most %d are allowed", t.name, size, largest))
		}
	}
	return out, nil
}

func (c *Client) produceOnce(ctx context.Context, t *topic, records []kgo.Record) error {
	_, err := c.produce(ctx, t, records)
	return err
}

// produceInOrder sends the records in pieces, each after the one before is
// acknowledged.
func (c *Client) produceInOrder(ctx context.Context, t *topic, records []kgo.Record) error {
	for len(records) > 0 {
		n := piece(records, t.buffered/2)
		if err := c.producePiece(ctx, t, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// What franz-go adds to a record and to a batch at most.
const (
	recordOverhead = 64
	batchRoom      = eventsBatchBytes - 1<<10
)

// piece gives how many of the records, at least one, fit into one batch for each
// partition and have at most so many bytes together.
func piece(records []kgo.Record, most int64) int {
	total, batches := int64(0), map[int32]int64{}
	for i := range records {
		r := &records[i]
		size := int64(len(r.Key) + len(r.Value) + recordOverhead)
		for _, h := range r.Headers {
			size += int64(len(h.Key) + len(h.Value) + recordOverhead)
		}
		total += size
		batches[r.Partition] += size
		if i > 0 && (total > most || batches[r.Partition] > batchRoom || i >= maxBufferedRecords/2) {
			return i
		}
	}
	return len(records)
}

// producePiece sends records, one batch for each partition, and waits until the fate
// of each is known, which the delivery timeout bounds.
func (c *Client) producePiece(ctx context.Context, t *topic, records []kgo.Record) error {
	c.inOrder.Lock() // another call's flush would send what is half gathered here
	defer c.inOrder.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kafka: producing to %s: %w", t.name, err)
	}
	size := sizeOf(records)
	if reason, err := c.refusal(t, records, size); err != nil {
		c.metrics.failed.WithLabelValues(t.label, reason).Inc()
		return err
	}
	began := time.Now()
	d := c.send(t, records)
	if err := t.producer.Flush(c.ctx); err != nil {
		c.log.Debug("sending events ends", "error", err)
	}
	<-d.done // none is left after a flush, nor when the client is closed
	_, err := d.result(nil)
	reason := ""
	if err != nil {
		reason = failureOf(d)
	}
	c.metrics.produced(t, len(records), size, began, reason)
	return err
}
