package kafka

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka/tracecontext"
)

// Record is a record of a workspace on a graph topic. All records of a workspace are in one
// partition, in the order in which they were acknowledged.
type Record struct {
	Workspace uuid.UUID // its 16 bytes are the key
	Value     []byte
	RequestID string // id of the request that caused it
	ReplyTo   string // on commands: the process that waits for the result; empty: none
}

// WorkspacePartition returns the partition of a workspace's records. It is the one that Kafka's
// default partitioner chooses for the workspace's 16 bytes as the key.
func WorkspacePartition(workspace uuid.UUID, partitions int32) int32 {
	return pointblock.Partition(workspace, partitions)
}

// ProduceCommand writes a record to graph.commands and waits until all in-sync replicas have it,
// at most for ProduceTimeout. Errors are fault.Unavailable with a Retry-After, returned at once if
// the produce cannot succeed (see ProducePoints). The record may be in the log even after an error.
// The caller must not modify the value afterwards.
func (c *Client) ProduceCommand(ctx context.Context, record Record) error {
	return c.ProduceCommands(ctx, []Record{record})
}

// ProduceCommands is ProduceCommand for several records. Any of them may be in the log even after an
// error.
func (c *Client) ProduceCommands(ctx context.Context, records []Record) error {
	return c.produceGraph(ctx, c.commands, MaxCommandBytes, records, c.produceOnce)
}

// ProduceEvents writes records to graph.events and waits until all in-sync replicas have them. The
// records of a workspace are written in order. After an error, a prefix of each workspace's records
// may be in the log. The call may be repeated, but may create duplicates. Concurrent calls must not
// have records of the same workspace.
//
// To prevent gaps, the records of a partition are sent as one record batch at a time, which the
// broker appends completely or not at all, and the next batch is sent after the acknowledgement of
// the previous one. The batches are encoded and sent here because franz-go's producer decides
// itself when to send the records it has buffered. ProduceEvents waits for batches in flight even
// if ctx is done.
func (c *Client) ProduceEvents(ctx context.Context, records []Record) error {
	return c.produceGraph(ctx, c.events, MaxEventBytes, records, c.produceInOrder)
}

// ProduceAudit writes records to topic audit and waits until all in-sync replicas have all of them,
// at most for ProduceTimeout. Errors are fault.Unavailable, returned at once if the produce cannot
// succeed (see ProducePoints). Any of the records may be in the log even after an error. The call
// may be repeated: the consumer tolerates duplicates. After an error the caller must not modify the
// values.
func (c *Client) ProduceAudit(ctx context.Context, records []Record) error {
	return c.produceGraph(ctx, c.audit, MaxAuditBytes, records, c.produceOnce)
}

// produceFunc sends records to a topic and waits for their acknowledgement.
type produceFunc func(ctx context.Context, t *topic, records []kgo.Record) error

func (c *Client) produceGraph(
	ctx context.Context, t *topic, maxBytes int, records []Record, produce produceFunc,
) error {
	if len(records) == 0 {
		return nil
	}
	ctx, span := c.startSend(ctx, t, len(records))
	out, err := t.records(ctx, maxBytes, records)
	if err == nil {
		err = produce(ctx, t, out)
	}
	tracing.End(span, err)
	return err
}

// records converts records to franz-go's type and sets their partitions.
func (t *topic) records(ctx context.Context, maxBytes int, records []Record) ([]kgo.Record, error) {
	partitions := t.state().Partitions
	if partitions == 0 {
		return nil, errUnavailable().Because(fmt.Errorf("topic %s is not created yet", t.name))
	}
	out := make([]kgo.Record, len(records))
	for i, r := range records {
		headers := tracecontext.Add(ctx, []kgo.RecordHeader{{Key: HeaderRequestID, Value: []byte(r.RequestID)}})
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
		if size > maxBytes {
			return nil, fault.New(fault.Internal, "A record is larger than the log accepts").
				Because(fmt.Errorf("a record of %s has %d bytes, at most %d are allowed", t.name, size, maxBytes))
		}
	}
	return out, nil
}

func (c *Client) produceOnce(ctx context.Context, t *topic, records []kgo.Record) error {
	_, err := c.produce(ctx, t, records)
	return err
}
