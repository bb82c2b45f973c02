package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Settings of the consumer group. A member that dies silently is replaced after
// the session timeout; one that is asked for partitions has the rebalance timeout
// to finish what it began. A member learns by its heartbeats that others come or
// go, twice until partitions have moved, and nobody consumes these meanwhile: so
// the interval is how stale points become when a consumer is restarted.
const (
	defaultSession    = 10 * time.Second
	heartbeatInterval = 500 * time.Millisecond
	rebalanceTimeout  = 30 * time.Second
	fetchMaxWait      = 500 * time.Millisecond
	minPartitionFetch = 1 << 20
)

// ErrDiscontinued says that the partitions are not what they were: the topic was
// created again, or records were replaced. The member must leave and join again.
var ErrDiscontinued = errors.New("kafka: the topic's records are no longer those of before")

// Discontinuity is an ErrDiscontinued that says where: from which offset on the
// records of a partition were replaced. From is -1 when the topic as a whole is
// another one or is gone.
type Discontinuity struct {
	Partition int32
	From      int64
	cause     error
}

// NewDiscontinuity creates one, with its cause.
func NewDiscontinuity(partition int32, from int64, cause error) *Discontinuity {
	return &Discontinuity{Partition: partition, From: from, cause: cause}
}

// Error tells the cause.
func (d *Discontinuity) Error() string {
	return fmt.Sprintf("%s: partition %d: %s", ErrDiscontinued, d.Partition, d.cause)
}

// Is makes it an ErrDiscontinued.
func (d *Discontinuity) Is(target error) bool { return target == ErrDiscontinued }

// Unwrap returns the cause.
func (d *Discontinuity) Unwrap() error { return d.cause }

// GroupOptions say how a member of a group behaves.
type GroupOptions struct {
	Topic      string
	Group      string
	FetchBytes int32 // most bytes of one fetch of one broker
	// Start decides where newly assigned partitions begin. It is given what the
	// group has committed, -1 where nothing, and gives the offsets to begin at.
	// It is called outside of Poll; an error makes the member join again.
	Start func(ctx context.Context, committed map[int32]int64) (map[int32]int64, error)
	// Revoked is called when partitions go: before they do, so that what was
	// polled can be finished and committed, or, if lost, after.
	Revoked func(partitions []int32, lost bool)
}

// Group is a member of a consumer group of one topic. Poll and AllowRebalance
// belong to one goroutine; Commit may be called by another.
type Group struct {
	client *kgo.Client
	topic  string
	forget func()
}

// Join makes a member of a group. It joins in the background, at the first Poll.
func (c *Client) Join(o GroupOptions) (*Group, error) {
	g := &Group{topic: o.Topic}
	opts := append(c.opts.common("livegraph-"+o.Group, dialTimeout),
		kgo.ConsumerGroup(o.Group),
		kgo.ConsumeTopics(o.Topic),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // never skip a record
		kgo.AdjustFetchOffsetsFn(g.adjust(o)),
		kgo.OnPartitionsRevoked(g.gone(o, false)),
		kgo.OnPartitionsLost(g.gone(o, true)),
		kgo.SessionTimeout(c.opts.SessionTimeout),
		kgo.HeartbeatInterval(heartbeatInterval),
		kgo.RebalanceTimeout(rebalanceTimeout),
		kgo.FetchMaxBytes(o.FetchBytes),
		kgo.FetchMaxPartitionBytes(max(o.FetchBytes/4, minPartitionFetch)),
		kgo.FetchMaxWait(fetchMaxWait),
	)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: joining group %s: %w", o.Group, err)
	}
	g.client, g.forget = client, func() { c.members.Delete(g) }
	c.members.Store(g, nil)
	return g, nil
}

// adjust lets Start decide. Where it does not move an offset, the epoch of the
// commit stays with it, by which franz-go notices a log that was cut off.
func (g *Group) adjust(o GroupOptions) func(
	context.Context, map[string]map[int32]kgo.Offset,
) (map[string]map[int32]kgo.Offset, error) {
	return func(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		mine := offsets[g.topic]
		if len(mine) == 0 {
			return offsets, nil
		}
		committed := make(map[int32]int64, len(mine))
		for p, offset := range mine {
			committed[p] = max(offset.EpochOffset().Offset, -1)
		}
		start, err := o.Start(ctx, committed)
		if err != nil {
			return nil, err
		}
		for p, at := range start {
			if at != committed[p] {
				mine[p] = kgo.NewOffset().At(at)
			}
		}
		return offsets, nil
	}
}

func (g *Group) gone(o GroupOptions, lost bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		if len(partitions[g.topic]) > 0 {
			o.Revoked(partitions[g.topic], lost)
		}
	}
}

// Poll waits for records until ctx is done and gives at most so many. Until
// AllowRebalance no partition comes or goes. Errors of single partitions that
// franz-go retries are not errors here; ErrDiscontinued ends the membership.
func (g *Group) Poll(ctx context.Context, most int) (kgo.Fetches, error) {
	fetches := g.client.PollRecords(ctx, most)
	return fetches, fetchFailure(fetches)
}

// fetchFailure returns what is wrong with a poll, an ErrDiscontinued before others.
func fetchFailure(fetches kgo.Fetches) (failure error) {
	fetches.EachError(func(_ string, partition int32, err error) {
		var loss *kgo.ErrDataLoss
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		case errors.As(err, &loss):
			failure = NewDiscontinuity(partition, loss.ResetTo, err)
		case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.UnknownTopicOrPartition):
			failure = NewDiscontinuity(partition, -1, err)
		case failure == nil:
			failure = fmt.Errorf("kafka: consuming partition %d: %w", partition, err)
		}
	})
	return failure
}

// AllowRebalance lets partitions come and go until the next Poll.
func (g *Group) AllowRebalance() { g.client.AllowRebalance() }

// Pause stops fetching a partition, or goes on with it. What was fetched of it and not
// polled is fetched again then. It may be called by any goroutine.
func (g *Group) Pause(partition int32, pause bool) {
	one := map[string][]int32{g.topic: {partition}}
	if pause {
		g.client.PauseFetchPartitions(one)
		return
	}
	g.client.ResumeFetchPartitions(one)
}

// Buffered returns how many records are fetched and not yet polled.
func (g *Group) Buffered() int64 { return g.client.BufferedFetchRecords() }

// Commit notes for each partition the next offset to consume.
func (g *Group) Commit(ctx context.Context, next map[int32]kgo.EpochOffset) error {
	if len(next) == 0 {
		return nil
	}
	var failure error
	done := func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			failure = fmt.Errorf("kafka: committing: %w", err)
			return
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					failure = fmt.Errorf("kafka: committing partition %d: %w", p.Partition, err)
				}
			}
		}
	}
	g.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{g.topic: next}, done)
	return failure
}

// Leave ends the membership; what is not committed is consumed again by anyone who
// gets the partitions. Revoked is called once more before.
func (g *Group) Leave() {
	g.forget()
	g.client.CloseAllowingRebalance()
}
