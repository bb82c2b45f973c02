package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka/agreement"
)

// ErrOutOfRange is returned if a broker's log does not contain the next offset of a member. The member
// must leave the group and join again. See docs/adr/0112-the-brokers-must-agree-before-offsets-are-set-back.md.
var ErrOutOfRange = errors.New("kafka: the broker's log does not contain the next offset")

// ConfirmTopic reads the state of a Livegraph topic, named without the prefix, as ObserveTopic does, but
// only if all brokers respond and agree on the leaders. A broker that was separated from the others may
// believe that it is still a leader, and its log may be shorter than that of the present leader.
func (c *Client) ConfirmTopic(ctx context.Context, name string) (TopicState, error) {
	t := c.topicOf(name)
	if t == nil {
		return TopicState{}, errUnknownTopic(name)
	}
	if err := c.requireAgreement(ctx, t.name); err != nil {
		return TopicState{}, err
	}
	return c.observe(ctx, t)
}

// confirmedBounds returns the bounds of a topic's partitions, if all brokers agree on the leaders.
func (c *Client) confirmedBounds(ctx context.Context, topic string) (map[int32]Span, error) {
	if err := c.requireAgreement(ctx, topic); err != nil {
		return nil, err
	}
	return c.bounds(ctx, topic)
}

// confirmLoss returns a Discontinuity if the records of a partition below the next offset, the last of
// which was written in the epoch of next, are not in the log any more. Otherwise it returns
// ErrOutOfRange: the broker that responded was not the leader, or it is unknown.
func (c *Client) confirmLoss(ctx context.Context, topic string, partition int32, next kgo.EpochOffset) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	from, err := c.epochEnd(ctx, topic, partition, next.Epoch)
	switch {
	case err != nil:
		return fmt.Errorf("%w: partition %d: %w", ErrOutOfRange, partition, err)
	case from < next.Offset:
		return NewDiscontinuity(partition, from, fmt.Errorf(
			"offset %d was next, and the log goes on at %d", next.Offset, from,
		))
	}
	return fmt.Errorf("%w: partition %d: offset %d", ErrOutOfRange, partition, next.Offset)
}

// epochEnd returns the offset up to which the log of a partition contains the records of a leader epoch
// and of earlier ones: the start of the log if the epoch is unknown to the leader, the end if epoch is -1.
func (c *Client) epochEnd(ctx context.Context, topic string, partition, epoch int32) (int64, error) {
	bounds, err := c.confirmedBounds(ctx, topic)
	if err != nil {
		return 0, err
	}
	log, ok := bounds[partition]
	if !ok {
		return 0, kerr.UnknownTopicOrPartition
	}
	if epoch < 0 {
		return log.To, nil
	}
	ends, err := c.admin.OffsetForLeaderEpoch(ctx, kadm.OffsetForLeaderEpochRequest{topic: {partition: epoch}})
	if err != nil {
		return 0, errRequest("reading the end of a leader epoch", err)
	}
	end := ends[topic][partition]
	if end.Err != nil {
		return 0, errRequest("reading the end of a leader epoch", end.Err)
	}
	return max(end.EndOffset, log.From), nil
}

// requireAgreement returns an error unless all brokers respond, and agree on a topic.
func (c *Client) requireAgreement(ctx context.Context, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	if err := agreement.Require(ctx, c.adminKgo, topic); err != nil {
		return errRequest("confirming the leaders of "+topic, err)
	}
	return nil
}

// confirmed returns the error of a poll. What a single broker claims about lost records is confirmed.
func (c *Client) confirmed(ctx context.Context, topic string, err error) error {
	var loss *kgo.ErrDataLoss
	switch {
	case errors.As(err, &loss):
		ctx = context.WithoutCancel(ctx) // a caller that polls for a short time must learn of it
		next := kgo.EpochOffset{Epoch: loss.ConsumedToEpoch, Offset: loss.ConsumedTo}
		return c.confirmLoss(ctx, topic, loss.Partition, next)
	case errors.Is(err, kerr.OffsetOutOfRange):
		return fmt.Errorf("%w: %w", ErrOutOfRange, err)
	}
	return err
}

// ConfirmLoss returns the error of a member that expected the record at the next offset of a partition and
// got one of a lower offset. The epoch of next is that of the record before, -1 if it is unknown. The error
// is a Discontinuity if the log does not contain the records below next any more, and else ErrOutOfRange.
func (g *Group) ConfirmLoss(ctx context.Context, partition int32, next kgo.EpochOffset) error {
	return g.parent.confirmLoss(ctx, g.topic, partition, next)
}
