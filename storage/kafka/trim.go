package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TrimBefore removes records that were produced before a time from a topic, named without the
// prefix, and returns their number. It keeps records that the topic's built-in consumer has not
// committed, and the last record of each partition. Kafka's own retention by time (retention.ms)
// respects neither, so a consumer that is stopped for that time would lose records.
func (c *Client) TrimBefore(ctx context.Context, name string, at time.Time) (removed int64, err error) {
	t := c.topicOf(name)
	if t == nil {
		return 0, errUnknownTopic(name)
	}
	state, err := c.observe(ctx, t)
	if err != nil {
		return 0, err
	}
	bounds, err := c.OffsetsAt(ctx, state.Name, at)
	if err != nil {
		return 0, err
	}
	offsets := kadm.Offsets{}
	for p, s := range state.State {
		bound, ok := bounds[int32(p)]
		if bound = min(bound, s.End-1); t.group != "" {
			bound = min(bound, s.next())
		}
		if ok && bound > s.Start {
			removed += bound - s.Start
			offsets.Add(kadm.Offset{Topic: state.Name, Partition: int32(p), At: bound})
		}
	}
	if removed == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	responses, err := c.admin.DeleteRecords(ctx, offsets)
	if err == nil {
		err = responses.Error()
	}
	if err != nil {
		return 0, errRequest("trimming "+t.name, err)
	}
	return removed, nil
}
