package kafka

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Limits for a broker that keeps batches in memory.
const (
	// MaxPointsRecords is the maximum number of records of topic points, in all partitions together;
	// maxTopicRecords is that of each other topic. With one record per batch they use 250 MB.
	MaxPointsRecords = 1_600_000
	maxTopicRecords  = 400_000
	// trimTarget is the share of the maximum that remains after a trim.
	trimTarget = 0.9
	// trimEvery is how many polls of a topic there are per check of its record count.
	trimEvery = 10
	// inMemorySegmentBytes is the segment size. The broker frees the metadata of a segment's
	// batches only when the last of them is deleted.
	inMemorySegmentBytes = 8 << 20
)

// maxRecordsOf returns the maximum number of records of the topic, or 0 if only its settings limit
// it.
func (c *Client) maxRecordsOf(t *topic) int64 {
	switch {
	case !c.opts.BatchesInMemory:
		return 0
	case t.label == TopicPoints:
		return cmp.Or(c.opts.maxPointsRecords, MaxPointsRecords)
	}
	return maxTopicRecords
}

// recordsBehind returns the group's lag in records as a share of limit.
func recordsBehind(state []PartitionState, limit int64) float64 {
	if limit <= 0 {
		return 0
	}
	behind := int64(0)
	for _, s := range state {
		behind += s.End - s.next()
	}
	return float64(behind) / float64(limit)
}

// boundRecords deletes the oldest records of a topic that has too many for the broker's memory. It
// deletes only records that the topic's group has committed. While the others exceed the limit,
// produces to the topic are refused, see LogFill.
func (c *Client) boundRecords(ctx context.Context, t *topic) {
	limit := c.maxRecordsOf(t)
	if limit == 0 {
		return
	}
	state, err := c.observe(ctx, t)
	if err != nil {
		c.log.Debug("the log's records cannot be counted", "topic", t.name, "error", err)
		return
	}
	var offsets kadm.Offsets
	for p, to := range trimOffsets(state.State, limit, t.group != "") {
		offsets.AddOffset(t.name, p, to, -1)
	}
	if len(offsets) == 0 {
		return
	}
	responses, err := c.admin.DeleteRecords(ctx, offsets)
	if err == nil {
		err = responses.Error()
	}
	// Out of range: retention has already deleted these records.
	if err != nil && !errors.Is(err, kerr.OffsetOutOfRange) {
		c.log.Warn("old records cannot be deleted", "topic", t.name, "error", err)
		return
	}
	c.log.Info("old records are deleted to limit the broker's memory", "topic", t.name, "records kept", limit)
}

// trimOffsets returns the new start offset of each partition to trim. All partitions are trimmed by
// the same share. It keeps records that the topic's group, if consumed, has not committed, and at
// least one record: the embedded broker starts again at offset 0 once a partition is empty.
func trimOffsets(state []PartitionState, limit int64, consumed bool) map[int32]int64 {
	total := int64(0)
	for _, s := range state {
		total += s.End - s.Start
	}
	if total <= limit {
		return nil
	}
	trimmedShare := 1 - trimTarget*float64(limit)/float64(total)
	offsets := map[int32]int64{}
	for p, s := range state {
		offset := min(s.Start+int64(math.Round(trimmedShare*float64(s.End-s.Start))), s.End-1)
		if consumed {
			offset = min(offset, s.next())
		}
		if offset > s.Start {
			offsets[int32(p)] = offset
		}
	}
	return offsets
}

// next returns the offset that the group reads next.
func (s PartitionState) next() int64 {
	if s.Committed < 0 || s.Committed > s.End { // never committed, or an offset of a deleted topic of the same name
		return s.Start
	}
	return s.Committed
}
