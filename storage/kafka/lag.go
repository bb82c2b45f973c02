package kafka

import (
	"slices"
	"time"
)

// maxMarks bounds what is remembered of a partition's growth. When there are
// more, every other one is forgotten and new ones are made half as often, so that
// a long outage is known as well as a short one, in proportion.
const maxMarks = 128

// lagAges turns lag in records into lag in time without reading a record: it
// remembers when the end of each partition was first seen to be where, and so
// when the oldest record that is not committed came at the latest.
type lagAges struct{ partitions []marks }

// marks are the past ends of a partition, oldest first.
type marks struct {
	list  []mark
	apart time.Duration // the least time between two
}

// mark says that at some time the partition ended at an offset.
type mark struct {
	end int64
	at  time.Time
}

// observe takes up a reading of all partitions.
func (l *lagAges) observe(state []PartitionState, at time.Time) {
	for len(l.partitions) < len(state) {
		l.partitions = append(l.partitions, marks{})
	}
	l.partitions = l.partitions[:len(state)]
	for p, s := range state {
		l.partitions[p].observe(s, at)
	}
}

// observe drops the marks of what is committed and adds one for the new end.
func (m *marks) observe(s PartitionState, at time.Time) {
	done := s.End - s.lag()
	m.list = slices.DeleteFunc(m.list, func(mark mark) bool {
		return mark.end <= done || mark.end > s.End // committed, or of another topic of the name
	})
	n := len(m.list)
	switch {
	case s.End == done:
		m.apart = 0
	case n == 0, m.list[n-1].end < s.End && at.Sub(m.list[n-1].at) >= m.apart:
		m.list = append(m.list, mark{end: s.End, at: at})
	}
	if len(m.list) > maxMarks {
		m.thin()
	}
}

// thin forgets every other mark. The oldest stays: it is the lag.
func (m *marks) thin() {
	kept := m.list[:0]
	for i := 0; i < len(m.list); i += 2 {
		kept = append(kept, m.list[i])
	}
	m.list = kept
	m.apart = kept[len(kept)-1].at.Sub(kept[0].at) / time.Duration(len(kept)-1)
}

// of returns how long a partition lags behind.
func (l *lagAges) of(partition int, now time.Time) time.Duration {
	if partition >= len(l.partitions) || len(l.partitions[partition].list) == 0 {
		return 0
	}
	return now.Sub(l.partitions[partition].list[0].at)
}

// lag returns how many records of the partition are not committed.
func (s PartitionState) lag() int64 {
	next := s.Committed
	if next < s.Start || next > s.End { // never committed, trimmed, or another topic's offset
		next = s.Start
	}
	return s.End - next
}
