package kafka

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
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
// it; to repeat the call is safe except for duplicates. Only one call at a time may
// have records of a workspace.
//
// So that none can go ahead of one that fails, a partition's records are one record
// batch at a time, which is there as a whole or not at all, and the next is sent when
// it is acknowledged. The batches are encoded and sent here: franz-go's producer
// decides by itself when it sends what it has gathered so far. What is on its way is
// waited for, whatever becomes of ctx.
func (c *Client) ProduceEvents(ctx context.Context, records []Record) error {
	return c.produceGraph(ctx, c.events, MaxEventBytes, records, c.produceInOrder)
}

// ProduceAudit puts records into topic audit and waits until all in-sync replicas have
// all of them, ProduceTimeout at most. An error is fault.Unavailable, at once when it
// is hopeless (see ProducePoints); any of the records may then be in the log all the
// same, and to repeat the call is safe except for duplicates, which the consumer does not
// mind. The values must not be written again after an error.
func (c *Client) ProduceAudit(ctx context.Context, records []Record) error {
	return c.produceGraph(ctx, c.audit, MaxAuditBytes, records, c.produceOnce)
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
