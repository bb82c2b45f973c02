package kafka

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// HeaderRedriven is on a record that was put back out of the dead letters: the place
// of the letter, topic/partition/offset.
const HeaderRedriven = "lg-redriven"

// keptHeaders are those of a dead letter that its record had, too.
var keptHeaders = []string{HeaderRequestID, HeaderVersion, HeaderTrace, HeaderTraceState}

// Redrive puts dead letters, records of one topic of dead letters, back into the
// topic that they come from: key, value and partition as they were, and for points
// the version that they would have had. It waits for the acknowledgement of all; an
// error means that some may not be there. To repeat it is safe where consumers are
// idempotent, as ours are.
func (c *Client) Redrive(ctx context.Context, letters []*kgo.Record) error {
	if len(letters) == 0 {
		return nil
	}
	origin, ok := IsDeadLetters(letters[0].Topic)
	t := c.topicOf(origin)
	if !ok || t == nil {
		return errUnknownTopic(letters[0].Topic)
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.ProduceTimeout+requestOverhead)
	defer cancel()
	info, err := c.describe(ctx, t)
	if err != nil {
		return errAsking("describing "+t.name, err)
	}
	records := make([]*kgo.Record, len(letters))
	for i, l := range letters {
		place := fmt.Sprintf("%s/%d/%d", l.Topic, l.Partition, l.Offset)
		headers := []kgo.RecordHeader{{Key: HeaderRedriven, Value: []byte(place)}}
		for _, name := range keptHeaders {
			if value := Header(l, name); value != nil {
				headers = append(headers, kgo.RecordHeader{Key: name, Value: value})
			}
		}
		partition := l.Partition
		if p, err := strconv.ParseInt(string(Header(l, HeaderPartition)), 10, 32); err == nil && p >= 0 {
			partition = int32(p)
		}
		records[i] = &kgo.Record{
			Topic: t.name, Partition: partition % info.Partitions, Key: l.Key, Value: l.Value, Headers: headers,
		}
	}
	if err := t.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return errAsking("redriving dead letters", err)
	}
	return nil
}
