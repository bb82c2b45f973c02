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

// Settings of the consumer group. A crashed member loses its partitions after the session timeout.
// During a rebalance a member has the rebalance timeout to finish its work on revoked partitions.
// Members learn of a rebalance from heartbeat responses, twice until a partition has moved, and the
// partition is not consumed meanwhile. The heartbeat interval therefore determines how stale points
// become when a consumer restarts.
const (
	defaultSession    = 10 * time.Second
	heartbeatInterval = 500 * time.Millisecond
	rebalanceTimeout  = 30 * time.Second
	fetchMaxWait      = 500 * time.Millisecond
	minPartitionFetch = 1 << 20
)

// ErrDiscontinued is returned if the topic was created again or its records were replaced. The
// member must leave the group and join again.
var ErrDiscontinued = errors.New("kafka: the topic's records were replaced")

// Discontinuity is an ErrDiscontinued with the partition and the offset from which on its records
// were replaced. From is -1 if the topic was recreated or no longer exists.
type Discontinuity struct {
	Partition int32
	From      int64
	cause     error
}

// NewDiscontinuity returns a Discontinuity with a cause.
func NewDiscontinuity(partition int32, from int64, cause error) *Discontinuity {
	return &Discontinuity{Partition: partition, From: from, cause: cause}
}

// Error implements error.
func (d *Discontinuity) Error() string {
	return fmt.Sprintf("%s: partition %d: %s", ErrDiscontinued, d.Partition, d.cause)
}

// Is reports whether target is ErrDiscontinued.
func (d *Discontinuity) Is(target error) bool { return target == ErrDiscontinued }

// Unwrap returns the cause.
func (d *Discontinuity) Unwrap() error { return d.cause }

// GroupOptions configures a member of a consumer group.
type GroupOptions struct {
	Topic      string
	Group      string
	FetchBytes int32 // maximum bytes of one fetch from one broker
	// Start returns the offsets at which newly assigned partitions start. committed has the
	// group's committed offsets, -1 where there is none. It is called outside of Poll. After an
	// error the member joins again.
	Start func(ctx context.Context, committed map[int32]int64) (map[int32]int64, error)
	// Revoked is called before partitions are revoked, so that polled records can be finished and
	// committed, or, if lost is true, after the partitions were lost.
	Revoked func(partitions []int32, lost bool)
}

// Group is a member of a consumer group of one topic. Only one goroutine may call Poll and
// AllowRebalance; another may call Commit.
type Group struct {
	parent     *Client
	client     *kgo.Client
	topic      string
	watch      *stallWatch
	unregister func()
}

// Join creates a member of a group. It joins in the background, at the first Poll.
func (c *Client) Join(o GroupOptions) (*Group, error) {
	g := &Group{parent: c, topic: o.Topic, watch: c.newStallWatch(o.Topic)}
	opts := append(c.opts.common("livegraph-"+o.Group, dialTimeout),
		kgo.ConsumerGroup(o.Group),
		kgo.ConsumeTopics(o.Topic),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), // never skip a record
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),       // ErrOutOfRange instead: the broker may not be the leader
		kgo.AdjustFetchOffsetsFn(g.adjust(o)),
		kgo.OnPartitionsRevoked(g.revoked(o, false)),
		kgo.OnPartitionsLost(g.revoked(o, true)),
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
	g.client, g.unregister = client, func() { c.groups.Delete(g) }
	c.groups.Store(g, nil)
	return g, nil
}

// adjust returns a function that sets the start offsets to those of o.Start. If Start does not move
// an offset, the epoch of the commit is kept: franz-go detects a truncated log by it.
func (g *Group) adjust(o GroupOptions) func(
	context.Context, map[string]map[int32]kgo.Offset,
) (map[string]map[int32]kgo.Offset, error) {
	return func(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		assigned := offsets[g.topic]
		if len(assigned) == 0 {
			return offsets, nil
		}
		committed := make(map[int32]int64, len(assigned))
		for p, offset := range assigned {
			committed[p] = max(offset.EpochOffset().Offset, -1)
		}
		start, err := o.Start(ctx, committed)
		if err != nil {
			return nil, err
		}
		for p, at := range start {
			g.watch.set(p, at)
			if at != committed[p] {
				assigned[p] = kgo.NewOffset().At(at)
			}
		}
		return offsets, nil
	}
}

// revoked returns a callback that calls o.Revoked with the partitions of the topic.
func (g *Group) revoked(o GroupOptions, lost bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		if len(partitions[g.topic]) > 0 {
			g.watch.remove(partitions[g.topic]...)
			o.Revoked(partitions[g.topic], lost)
		}
	}
}

// Poll waits for records, for some seconds or until ctx is done, and returns at most maxRecords. No
// partition is assigned or revoked until AllowRebalance is called. Errors of single partitions that
// franz-go retries are not returned. After ErrDiscontinued, ErrOutOfRange and ErrStalled the member must
// leave.
func (g *Group) Poll(ctx context.Context, maxRecords int) (kgo.Fetches, error) {
	return g.watch.poll(ctx, g.client, maxRecords)
}

// fetchFailure returns the error of a poll, preferably an ErrDiscontinued or the loss of records, which is to be
// confirmed.
func fetchFailure(fetches kgo.Fetches) (failure error) {
	fetches.EachError(func(_ string, partition int32, err error) {
		var loss *kgo.ErrDataLoss
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		case errors.As(err, &loss):
			failure = err
		case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.UnknownTopicOrPartition):
			failure = NewDiscontinuity(partition, -1, err)
		case failure == nil:
			failure = fmt.Errorf("kafka: consuming partition %d: %w", partition, err)
		}
	})
	return failure
}

// AllowRebalance allows partitions to be assigned and revoked until the next Poll.
func (g *Group) AllowRebalance() { g.client.AllowRebalance() }

// Pause stops fetching a partition, or resumes it if pause is false. Records that were fetched but
// not polled are fetched again after resuming. It is safe for concurrent use.
func (g *Group) Pause(partition int32, pause bool) {
	partitions := map[string][]int32{g.topic: {partition}}
	g.watch.pause(partition, pause)
	if pause {
		g.client.PauseFetchPartitions(partitions)
		return
	}
	g.client.ResumeFetchPartitions(partitions)
}

// Buffered returns how many records are fetched and not yet polled.
func (g *Group) Buffered() int64 { return g.client.BufferedFetchRecords() }

// Commit commits the next offset to consume of each partition.
func (g *Group) Commit(ctx context.Context, next map[int32]kgo.EpochOffset) error {
	if len(next) == 0 {
		return nil
	}
	var failure error
	done := func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			failure = fmt.Errorf("kafka: committing: %w", err)
			return
		}
		for _, t := range response.Topics {
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

// Leave leaves the group. Revoked is called before. Uncommitted records are consumed again by the
// members that the partitions are assigned to.
func (g *Group) Leave() {
	g.unregister()
	g.client.CloseAllowingRebalance()
}
