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

	"github.com/livegraph/livegraph/storage/kafka/sentbytes"
	"github.com/livegraph/livegraph/storage/kafka/topiccheck"
)

// The partitions' sizes change slowly and are more expensive for the broker than the offsets. While
// the fill is at most lowFill, they are read only once per sizesEvery polls of the offsets.
const (
	sizesEvery = 5
	lowFill    = 0.1
)

// logFill measures how close a topic's consumer is to losing records to retention.
type logFill struct {
	share     atomic.Uint64 // float64 bits, see LogFill
	lost      atomic.Int64  // see LostRecords
	retention atomic.Int64  // retention.bytes of a partition; 0 or below: unlimited

	mu        sync.Mutex
	polls     int
	sizes     map[int32]int64 // bytes of each partition, as last read
	lostUntil map[int32]int64 // log start offset up to which losses have been reported

	sharesMu    sync.RWMutex // guards shares and uncommitted, which must be consistent
	shares      []float64    // the fill by partition
	uncommitted sentbytes.Counter
}

func (f *logFill) setRetention(value string) {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		f.retention.Store(n)
	}
}

// LogFill returns the lag of the points consumer on its slowest partition, as a share of the log's
// retention. At 0 the consumer has caught up, at 1 its oldest unconsumed record is the next to be
// trimmed, above 1 records were lost. It is measured about once a second. For records of this
// process the bytes are known; for others the partition's average size is assumed. With the
// embedded broker it is the lag as a share of the maximum number of records, if that is more.
func (c *Client) LogFill() float64 { return c.points.fill.read() }

func (f *logFill) read() float64 { return math.Float64frombits(f.share.Load()) }

// LostRecords returns the number of records that retention removed before the points consumer had
// committed them, as observed by this process.
func (c *Client) LostRecords() int64 { return c.points.fill.lost.Load() }

// PartitionState contains the start and end offsets of a partition and the committed offset of the
// topic's group, -1 if it has committed none.
type PartitionState struct {
	Start, End, Committed int64
}

// TopicState is the state of a topic with the offsets of each partition.
type TopicState struct {
	TopicInfo
	State []PartitionState
}

// Observe reads the state of topic points from the brokers.
func (c *Client) Observe(ctx context.Context) (TopicState, error) { return c.observe(ctx, c.points) }

// ObserveTopic reads the state of a Livegraph topic, named without the prefix.
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
		return TopicState{}, errRequest("describing "+t.name, err)
	}
	bounds, err := c.bounds(ctx, info.Name)
	if err != nil {
		return TopicState{}, err
	}
	committed, err := c.committed(ctx, t.group)
	if err != nil {
		return TopicState{}, err
	}
	state, err := partitionStates(info, bounds, committed)
	return TopicState{TopicInfo: info, State: state}, err
}

// partitionStates combines the start and end offsets of a topic's partitions with the committed
// offsets of a group.
func partitionStates(info TopicInfo, bounds map[int32]Span, committed kadm.OffsetResponses) ([]PartitionState, error) {
	state := make([]PartitionState, info.Partitions)
	for p := range state {
		log, ok := bounds[int32(p)]
		if !ok {
			return nil, fmt.Errorf("kafka: the brokers returned no offsets of partition %d of %s", p, info.Name)
		}
		state[p] = PartitionState{Start: log.From, End: log.To, Committed: -1}
		if o, ok := committed.Lookup(info.Name, int32(p)); ok && o.Err == nil {
			state[p].Committed = o.At
		}
	}
	return state, nil
}

// committed reads a group's committed offsets. A group that does not exist has none.
func (c *Client) committed(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	if group == "" {
		return nil, nil
	}
	offsets, err := c.admin.FetchOffsets(ctx, group)
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		return nil, nil
	case err != nil:
		return nil, errRequest("reading the offsets of group "+group, err)
	}
	return offsets, nil
}

// measureFill updates a topic's fill and the number of its lost records.
func (c *Client) measureFill(ctx context.Context, t *topic) {
	f := &t.fill
	measured := f.uncommitted.BeginMeasurement()
	state, err := c.observe(ctx, t)
	if err != nil {
		c.log.Debug("the log's fill cannot be measured", "topic", t.name, "error", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.polls%sizesEvery == 0 || len(f.sizes) == 0 || f.read() > lowFill {
		c.measureSizes(ctx, t)
	}
	f.polls++
	maxFill := recordsBehind(state.State, c.maxRecordsOf(t))
	shares := make([]float64, len(state.State))
	for p, s := range state.State {
		shares[p] = f.partitionFill(int32(p), s)
		maxFill = max(maxFill, shares[p])
		c.reportLoss(t, int32(p), s)
	}
	f.sharesMu.Lock() // a record must not be counted in both shares and uncommitted
	f.shares = shares
	f.uncommitted.EndMeasurement(measured)
	f.sharesMu.Unlock()
	f.share.Store(math.Float64bits(maxFill))
	now := time.Now()
	t.partitions.observe(state.State, maps.Clone(f.sizes), now)
	t.readerLags.observe(t.group, state.State, now)
	c.metrics.measured.WithLabelValues(t.label).Set(float64(now.UnixMilli()) / 1000)
}

// measureSizes reads the partitions' sizes and the retention, which an operator may raise to gain
// time. Both change slowly.
func (c *Client) measureSizes(ctx context.Context, t *topic) {
	sizes, err := c.partitionSizes(ctx, t)
	if err != nil {
		c.log.Debug("the partitions' sizes cannot be read", "topic", t.name, "error", err)
		return
	}
	if t.fill.sizes == nil {
		t.fill.sizes = sizes
	}
	maps.Copy(t.fill.sizes, sizes) // partitions on brokers that do not respond keep their last size
	topics, err := c.admin.DescribeTopicConfigs(ctx, t.name)
	if err != nil {
		c.log.Debug("the log's retention cannot be read", "topic", t.name, "error", err)
		return
	}
	for _, topic := range topics {
		for _, have := range topic.Configs {
			if have.Key == topiccheck.RetentionBytes {
				t.fill.setRetention(have.MaybeValue())
			}
		}
	}
}

// full reports whether a partition's fill has reached threshold. It includes the records that this
// process has sent since the last measurement.
func (f *logFill) full(partition int32, threshold float64) bool {
	retention := f.retention.Load()
	if retention <= 0 {
		return false
	}
	f.sharesMu.RLock()
	defer f.sharesMu.RUnlock()
	share := 0.0
	if int(partition) < len(f.shares) {
		share = f.shares[partition]
	}
	return share+f.uncommitted.CompressedBytes(f.uncommitted.Unmeasured(partition))/float64(retention) >= threshold
}

// partitionFill returns the group's lag on a partition as a share of the retention.
func (f *logFill) partitionFill(partition int32, s PartitionState) float64 {
	retention, records := f.retention.Load(), s.End-s.Start
	if retention <= 0 || records <= 0 {
		return 0
	}
	next := s.next()
	lag, each := s.End-next, float64(f.sizes[partition])/float64(records)
	bytes, own, since := f.uncommitted.Lag(partition, next, s.End)
	lagBytes := max(float64(max(lag-since, 0))*each, f.uncommitted.CompressedBytes(bytes)+float64(max(lag-own, 0))*each)
	return lagBytes / float64(retention)
}

// reportLoss counts and logs records that were trimmed before they were consumed, once each.
func (c *Client) reportLoss(t *topic, partition int32, s PartitionState) {
	if s.Committed < 0 || s.Committed >= s.Start || s.Start <= t.fill.lostUntil[partition] {
		return
	}
	from := max(s.Committed, t.fill.lostUntil[partition])
	if t.fill.lostUntil == nil {
		t.fill.lostUntil = map[int32]int64{}
	}
	t.fill.lostUntil[partition] = s.Start
	t.fill.lost.Add(s.Start - from)
	c.log.Error("DATA LOSS: retention removed records before they were consumed",
		"topic", t.name, "partition", partition, "committed", s.Committed, "logStart", s.Start, "records", s.Start-from)
}

// partitionSizes returns the bytes of the largest replica of each partition of a topic that is
// on a broker that responds.
func (c *Client) partitionSizes(ctx context.Context, t *topic) (map[int32]int64, error) {
	var all kadm.TopicsSet
	for p := range t.state().Partitions {
		all.Add(t.name, p)
	}
	dirs, err := LogDirs(ctx, c.admin, all)
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
