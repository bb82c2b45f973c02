package kafka

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka/tracecontext"
)

// HeaderRedriven is a header of redriven records. Its value is the record reference of the dead
// letter: topic/partition/offset.
const HeaderRedriven = "lg-redriven"

// keptHeaders are the headers that are copied from a dead letter to the redriven record.
var keptHeaders = []string{HeaderRequestID, HeaderVersion, tracecontext.Parent, tracecontext.State}

// Redrive writes dead letters, all of one dead-letter topic, back to the topic that they come from.
// It keeps key, value and partition, and for points the version that they would have been stored
// with. It waits until all are acknowledged. After an error some may not be there. The call may be
// repeated if the topic's consumers are idempotent, as the built-in ones are.
func (c *Client) Redrive(ctx context.Context, deadLetters []*kgo.Record) error {
	if len(deadLetters) == 0 {
		return nil
	}
	origin, ok := IsDeadLetters(deadLetters[0].Topic)
	t := c.topicOf(origin)
	if !ok || t == nil {
		return errUnknownTopic(deadLetters[0].Topic)
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.ProduceTimeout+requestOverhead)
	defer cancel()
	info, err := c.describe(ctx, t)
	if err != nil {
		return errRequest("describing "+t.name, err)
	}
	records := make([]*kgo.Record, len(deadLetters))
	for i, d := range deadLetters {
		reference := fmt.Sprintf("%s/%d/%d", d.Topic, d.Partition, d.Offset)
		headers := []kgo.RecordHeader{{Key: HeaderRedriven, Value: []byte(reference)}}
		for _, name := range keptHeaders {
			if value := Header(d, name); value != nil {
				headers = append(headers, kgo.RecordHeader{Key: name, Value: value})
			}
		}
		partition := d.Partition
		if p, err := strconv.ParseInt(string(Header(d, HeaderPartition)), 10, 32); err == nil && p >= 0 {
			partition = int32(p)
		}
		records[i] = &kgo.Record{
			Topic: t.name, Partition: partition % info.Partitions, Key: d.Key, Value: d.Value, Headers: headers,
		}
	}
	if err := t.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return errRequest("redriving dead letters", err)
	}
	return nil
}
