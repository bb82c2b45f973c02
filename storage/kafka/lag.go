package kafka

import (
	"slices"
	"time"

	"github.com/livegraph/livegraph/storage/kafka/marklist"
)

// lagAges computes lag in time without reading records. It stores when each end offset of a
// partition was first observed: the oldest uncommitted record was produced no later than that.
type lagAges struct{ partitions []marks }

// marks contains past end offsets of a partition, oldest first.
type marks struct {
	list        []mark
	minInterval time.Duration // minimum time between two marks
}

// mark is an end offset of a partition and the time when it was observed.
type mark struct {
	end int64
	at  time.Time
}

// observe adds the current offsets of all partitions.
func (l *lagAges) observe(state []PartitionState, at time.Time) {
	for len(l.partitions) < len(state) {
		l.partitions = append(l.partitions, marks{})
	}
	l.partitions = l.partitions[:len(state)]
	for p, s := range state {
		l.partitions[p].observe(s, at)
	}
}

// observe removes the marks of committed records and adds one for the new end offset.
func (m *marks) observe(s PartitionState, at time.Time) {
	committed := s.End - s.lag()
	m.list = slices.DeleteFunc(m.list, func(mark mark) bool {
		return mark.end <= committed || mark.end > s.End // committed, or of a deleted topic of the same name
	})
	n := len(m.list)
	switch {
	case s.End == committed:
		m.minInterval = 0
	case n == 0, m.list[n-1].end < s.End && at.Sub(m.list[n-1].at) >= m.minInterval:
		m.list = append(m.list, mark{end: s.End, at: at})
	}
	var thinned bool
	if m.list, thinned = marklist.Limit(m.list); thinned { // the oldest mark, which determines the lag, is kept
		n = len(m.list)
		m.minInterval = m.list[n-1].at.Sub(m.list[0].at) / time.Duration(n-1) // half as many marks from now on
	}
}

// age returns the lag of a partition in time.
func (l *lagAges) age(partition int, now time.Time) time.Duration {
	if partition >= len(l.partitions) || len(l.partitions[partition].list) == 0 {
		return 0
	}
	return now.Sub(l.partitions[partition].list[0].at)
}

// lag returns the number of uncommitted records of the partition.
func (s PartitionState) lag() int64 {
	next := s.Committed
	if next < s.Start || next > s.End { // never committed, trimmed, or an offset of a deleted topic of the same name
		next = s.Start
	}
	return s.End - next
}
