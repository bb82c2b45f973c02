package kafka

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Bounds of a broker that keeps batches in memory.
const (
	// PointsKept is how many records of points are kept, in all partitions together, and
	// recordsKept how many of each other topic: at a batch each, 250 MB.
	PointsKept  = 1_600_000
	recordsKept = 400_000
	// keptByTrim is the share of them that stays when there are more.
	keptByTrim = 0.9
	// trimEvery is how many looks at a topic share one at its records.
	trimEvery = 10
	// smallSegment is how large a segment is, in bytes: what the broker knows of a
	// segment's batches it forgets with the last of them.
	smallSegment = 8 << 20
)

// kept returns how many records of the topic are kept; 0: as many as its settings say.
func (c *Client) kept(t *topic) int64 {
	switch {
	case !c.opts.BatchesInMemory:
		return 0
	case t.label == TopicPoints:
		return cmp.Or(c.opts.pointsKept, PointsKept)
	}
	return recordsKept
}

// recordsBehind returns the share of the records kept that the group lags behind.
func recordsBehind(state []PartitionState, kept int64) float64 {
	if kept <= 0 {
		return 0
	}
	behind := int64(0)
	for _, s := range state {
		behind += s.End - s.next()
	}
	return float64(behind) / float64(kept)
}

// boundRecords deletes what is too much of the topic for the broker's memory. It is what
// the topic's group has committed: while the rest is more than is kept, no more is let
// into the topic, see LogFill.
func (c *Client) boundRecords(ctx context.Context, t *topic) {
	kept := c.kept(t)
	if kept == 0 {
		return
	}
	state, err := c.observe(ctx, t)
	if err != nil {
		c.log.Debug("the log's records cannot be counted", "topic", t.name, "error", err)
		return
	}
	var cuts kadm.Offsets
	for p, to := range cutsOf(state.State, kept, t.group != "") {
		cuts.AddOffset(t.name, p, to, -1)
	}
	if len(cuts) == 0 {
		return
	}
	answers, err := c.admin.DeleteRecords(ctx, cuts)
	if err == nil {
		err = answers.Error()
	}
	// Out of range: retention has gone as far meanwhile.
	if err != nil && !errors.Is(err, kerr.OffsetOutOfRange) {
		c.log.Warn("old records cannot be deleted", "topic", t.name, "error", err)
		return
	}
	c.log.Info("old records are deleted: small ones take the broker's memory", "topic", t.name, "records kept", kept)
}

// cutsOf returns from where on records stay, for each partition that loses any: each is
// cut by the same share, and never what its group, if it has one, has not committed, nor
// all (the embedded broker begins again at offset 0 once a partition is empty).
func cutsOf(state []PartitionState, kept int64, consumed bool) map[int32]int64 {
	total := int64(0)
	for _, s := range state {
		total += s.End - s.Start
	}
	if total <= kept {
		return nil
	}
	gone := 1 - keptByTrim*float64(kept)/float64(total)
	cuts := map[int32]int64{}
	for p, s := range state {
		to := min(s.Start+int64(math.Round(gone*float64(s.End-s.Start))), s.End-1)
		if consumed {
			to = min(to, s.next())
		}
		if to > s.Start {
			cuts[int32(p)] = to
		}
	}
	return cuts
}

// next is the offset that the group reads next.
func (s PartitionState) next() int64 {
	if s.Committed < 0 || s.Committed > s.End { // never committed, or another topic's offset
		return s.Start
	}
	return s.Committed
}
