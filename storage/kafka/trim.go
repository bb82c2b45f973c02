package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TrimBefore removes from a topic, named without the prefix, the records that were produced
// before a time, and reports how many. It removes none that the topic's built-in consumer has
// not committed, and leaves each partition its last record: a topic's own retention by time
// (retention.ms) looks at neither, so that a consumer that stands still for as long would
// lose records.
func (c *Client) TrimBefore(ctx context.Context, name string, at time.Time) (removed int64, err error) {
	t := c.topicOf(name)
	if t == nil {
		return 0, errUnknownTopic(name)
	}
	state, err := c.observe(ctx, t)
	if err != nil {
		return 0, err
	}
	first, err := c.OffsetsAt(ctx, state.Name, at)
	if err != nil {
		return 0, err
	}
	to := kadm.Offsets{}
	for p, s := range state.State {
		bound, ok := first[int32(p)]
		if bound = min(bound, s.End-1); t.group != "" {
			bound = min(bound, s.Committed)
		}
		if ok && bound > s.Start {
			removed += bound - s.Start
			to.Add(kadm.Offset{Topic: state.Name, Partition: int32(p), At: bound})
		}
	}
	if removed == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	done, err := c.admin.DeleteRecords(ctx, to)
	if err == nil {
		err = done.Error()
	}
	if err != nil {
		return 0, errAsking("trimming "+t.name, err)
	}
	return removed, nil
}
