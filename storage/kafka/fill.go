package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// sizesEvery is how many looks at the offsets share one look at the sizes, which
// change slowly and cost the broker more, while little of the log is unstored.
const (
	sizesEvery = 5
	littleFill = 0.1
)

// logFill is what is known of the distance between a topic's consumer and the end
// that retention cuts off.
type logFill struct {
	share     atomic.Uint64 // float64 bits, see LogFill
	lost      atomic.Int64  // see LostRecords
	retention atomic.Int64  // bytes kept of a partition; 0 or below: no bound

	mu        sync.Mutex
	looks     int
	sizes     map[int32]int64 // bytes of each partition, at the last look
	lostUntil map[int32]int64 // log start up to which a loss has been reported

	turn   sync.RWMutex // of the next two, which go together
	shares []float64    // the fill by partition
	own    unstored
}

func (f *logFill) setRetention(value string) {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		f.retention.Store(n)
	}
}

// LogFill returns how much of the log's retention the points consumer lags behind,
// on its slowest partition: 0 is caught up, at 1 the oldest record that it has
// not consumed is the next to be trimmed, above 1 records were lost. It is
// measured about once a second: of this process's own records it knows the bytes,
// of others' it assumes that they are of the partition's average size. In the embedded
// broker it is the share of the records kept, where that is more.
func (c *Client) LogFill() float64 { return c.points.fill.read() }

func (f *logFill) read() float64 { return math.Float64frombits(f.share.Load()) }

// LostRecords counts the records that retention removed before the points
// consumer had committed them, as far as this process has seen.
func (c *Client) LostRecords() int64 { return c.points.fill.lost.Load() }

// PartitionState is where a partition begins and ends, and how far the topic's
// group has committed (-1: never).
type PartitionState struct {
	Start, End, Committed int64
}

// TopicState is the state of a topic with its offsets, by partition.
type TopicState struct {
	TopicInfo
	State []PartitionState
}

// Observe asks the brokers for the state of topic points.
func (c *Client) Observe(ctx context.Context) (TopicState, error) { return c.observe(ctx, c.points) }

// ObserveTopic asks for that of one of our topics, named without the prefix.
func (c *Client) ObserveTopic(ctx context.Context, name string) (TopicState, error) {
	t := c.topicOf(name)
	if t == nil {
		return TopicState{}, errUnknownTopic(name)
	}
	return c.observe(ctx, t)
}

func (c *Client) observe(ctx context.Context, t *topic) (TopicState, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	info, err := c.describe(ctx, t)
	if err != nil {
		return TopicState{}, errAsking("describing "+t.name, err)
	}
	bounds, err := c.bounds(ctx, info.Name)
	if err != nil {
		return TopicState{}, err
	}
	committed, err := c.committed(ctx, t.group)
	if err != nil {
		return TopicState{}, err
	}
	state, err := statesOf(info, bounds, committed)
	return TopicState{TopicInfo: info, State: state}, err
}

// statesOf puts together where the partitions of a topic are and how far a group is.
func statesOf(info TopicInfo, bounds map[int32]Span, committed kadm.OffsetResponses) ([]PartitionState, error) {
	state := make([]PartitionState, info.Partitions)
	for p := range state {
		log, ok := bounds[int32(p)]
		if !ok {
			return nil, fmt.Errorf("kafka: partition %d of %s gave no offsets", p, info.Name)
		}
		state[p] = PartitionState{Start: log.From, End: log.To, Committed: -1}
		if o, ok := committed.Lookup(info.Name, int32(p)); ok && o.Err == nil {
			state[p].Committed = o.At
		}
	}
	return state, nil
}

// committed reads a group's offsets; a group that does not exist has none.
func (c *Client) committed(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	if group == "" {
		return nil, nil
	}
	offsets, err := c.admin.FetchOffsets(ctx, group)
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		return nil, nil
	case err != nil:
		return nil, errAsking("reading the offsets of group "+group, err)
	}
	return offsets, nil
}

// measureFill brings a topic's fill and the count of its lost records up to date.
func (c *Client) measureFill(ctx context.Context, t *topic) {
	f := &t.fill
	looked := f.own.look()
	state, err := c.observe(ctx, t)
	if err != nil {
		c.log.Debug("the log's fill cannot be measured", "topic", t.name, "error", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looks%sizesEvery == 0 || len(f.sizes) == 0 || f.read() > littleFill {
		c.measureSizes(ctx, t)
	}
	f.looks++
	fullest := recordsBehind(state.State, c.kept(t))
	shares := make([]float64, len(state.State))
	for p, s := range state.State {
		shares[p] = f.shareOf(int32(p), s)
		fullest = max(fullest, shares[p])
		c.noteLoss(t, int32(p), s)
	}
	f.turn.Lock() // nobody sees a share and what it is made of
	f.shares = shares
	f.own.seen(looked)
	f.turn.Unlock()
	f.share.Store(math.Float64bits(fullest))
	now := time.Now()
	t.partitions.observe(state.State, maps.Clone(f.sizes), now)
	t.seen.observe(t.group, state.State, now)
	c.metrics.measured.WithLabelValues(t.label).Set(float64(now.UnixMilli()) / 1000)
}

// measureSizes looks at what changes slowly: the partitions' sizes, and the
// retention, which an operator may raise to win time.
func (c *Client) measureSizes(ctx context.Context, t *topic) {
	sizes, err := c.partitionSizes(ctx, t)
	if err != nil {
		c.log.Debug("the partitions' sizes cannot be read", "topic", t.name, "error", err)
		return
	}
	t.fill.sizes = sizes
	topics, err := c.admin.DescribeTopicConfigs(ctx, t.name)
	if err != nil {
		c.log.Debug("the log's retention cannot be read", "topic", t.name, "error", err)
		return
	}
	for _, topic := range topics {
		for _, have := range topic.Configs {
			if have.Key == "retention.bytes" {
				t.fill.setRetention(have.MaybeValue())
			}
		}
	}
}

// full reports whether a partition's log is filled up to a share of its retention,
// with what this process has sent to it since the last look.
func (f *logFill) full(partition int32, threshold float64) bool {
	retention := f.retention.Load()
	if retention <= 0 {
		return false
	}
	f.turn.RLock()
	defer f.turn.RUnlock()
	share := 0.0
	if int(partition) < len(f.shares) {
		share = f.shares[partition]
	}
	return share+f.own.inLog(f.own.unseen(partition))/float64(retention) >= threshold
}

// shareOf returns the share of the retention that the group lags behind on a
// partition.
func (f *logFill) shareOf(partition int32, s PartitionState) float64 {
	retention, records := f.retention.Load(), s.End-s.Start
	if retention <= 0 || records <= 0 {
		return 0
	}
	next := s.next()
	lag, each := s.End-next, float64(f.sizes[partition])/float64(records)
	bytes, own, since := f.own.behind(partition, next, s.End)
	unstored := max(float64(max(lag-since, 0))*each, f.own.inLog(bytes)+float64(max(lag-own, 0))*each)
	return unstored / float64(retention)
}

// noteLoss reports records that were trimmed before they were consumed, once.
func (c *Client) noteLoss(t *topic, partition int32, s PartitionState) {
	if s.Committed < 0 || s.Committed >= s.Start || s.Start <= t.fill.lostUntil[partition] {
		return
	}
	from := max(s.Committed, t.fill.lostUntil[partition])
	if t.fill.lostUntil == nil {
		t.fill.lostUntil = map[int32]int64{}
	}
	t.fill.lostUntil[partition] = s.Start
	t.fill.lost.Add(s.Start - from)
	c.log.Error("DATA LOSS: retention removed records before the consumer had them",
		"topic", t.name, "partition", partition, "committed", s.Committed, "logStart", s.Start, "records", s.Start-from)
}

// partitionSizes reads the bytes of each partition of a topic: of its largest
// replica.
func (c *Client) partitionSizes(ctx context.Context, t *topic) (map[int32]int64, error) {
	var all kadm.TopicsSet
	for p := range t.state().Partitions {
		all.Add(t.name, p)
	}
	dirs, err := c.admin.DescribeAllLogDirs(ctx, all)
	if err != nil {
		return nil, err
	}
	sizes := map[int32]int64{}
	dirs.Each(func(d kadm.DescribedLogDir) {
		for p, replica := range d.Topics[t.name] {
			sizes[p] = max(sizes[p], replica.Size)
		}
	})
	return sizes, nil
}
