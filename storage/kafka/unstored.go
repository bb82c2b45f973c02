package kafka

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// unstored knows how many bytes of this process's own records a topic's consumer
// has not committed. The brokers tell offsets, and the bytes of a whole partition:
// where records differ in size, as when large ones follow a million small ones,
// that says little about the bytes of the last hundred.
type unstored struct {
	mu         sync.Mutex
	partitions map[int32]*sent

	plain, packed atomic.Int64 // bytes of batches before and after compression
}

// OnProduceBatchWritten implements kgo.HookProduceBatchWritten: it learns how much
// compression saves.
func (u *unstored) OnProduceBatchWritten(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.ProduceBatchMetrics) {
	u.plain.Add(int64(m.UncompressedBytes))
	u.packed.Add(int64(m.CompressedBytes))
}

// inLog gives what so many bytes take in the log, by what batches took so far.
func (u *unstored) inLog(bytes int64) float64 {
	if plain, packed := u.plain.Load(), u.packed.Load(); plain > 0 {
		return float64(bytes) * float64(packed) / float64(plain)
	}
	return float64(bytes)
}

// sent is what this process has put into a partition.
type sent struct {
	marks          []sentMark // ascending offsets; the newest may be missing
	last           int64      // offset of the newest record, if there are marks
	bytes, records int64      // acknowledged, since the start
	unseen         int64      // bytes handed over since the last look at the offsets
}

// sentMark is a record of ours, with what was acknowledged before it.
type sentMark struct{ offset, bytes, records int64 }

func (u *unstored) of(partition int32) *sent {
	s := u.partitions[partition]
	if s == nil {
		s = &sent{}
		if u.partitions == nil {
			u.partitions = map[int32]*sent{}
		}
		u.partitions[partition] = s
	}
	return s
}

// handed notes records that are on their way.
func (u *unstored) handed(records []kgo.Record) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range records {
		u.of(records[i].Partition).unseen += bytesOf(&records[i])
	}
}

// acknowledged notes a record that is in the log.
func (u *unstored) acknowledged(partition int32, offset, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.of(partition)
	if len(s.marks) > 0 && offset <= s.last { // another topic of the name
		s.marks = nil
	}
	s.marks = append(s.marks, sentMark{offset, s.bytes, s.records})
	s.last = offset
	s.bytes += bytes
	s.records++
	if len(s.marks) > maxMarks { // coarser, and so a little too much, never too little
		kept := s.marks[:0]
		for i := 0; i < len(s.marks); i += 2 {
			kept = append(kept, s.marks[i])
		}
		s.marks = kept
	}
}

// look gives the bytes of each partition that a look at the offsets which begins
// now may miss. What the look has seen is taken off by seen.
func (u *unstored) look() map[int32]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	missed := make(map[int32]int64, len(u.partitions))
	for p, s := range u.partitions {
		missed[p] = s.unseen
	}
	return missed
}

// seen ends a look.
func (u *unstored) seen(looked map[int32]int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p, bytes := range looked {
		u.of(p).unseen -= bytes
	}
}

// unseen gives the bytes handed over since the last look.
func (u *unstored) unseen(partition int32) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.partitions[partition]; s != nil {
		return s.unseen
	}
	return 0
}

// behind gives the bytes and the records of ours that the consumer has not
// committed when the next one it will is at offset next, and forgets those before.
func (u *unstored) behind(partition int32, next int64) (bytes, records int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.partitions[partition]
	if s == nil || len(s.marks) == 0 {
		return 0, 0
	}
	if next > s.last {
		s.marks = nil
		return 0, 0
	}
	// The last mark before next stays: between it and the one behind it there may
	// be records that have no mark.
	first, found := slices.BinarySearchFunc(s.marks, next, func(m sentMark, next int64) int { return cmp.Compare(m.offset, next) })
	if !found && first > 0 {
		first--
	}
	s.marks = slices.Delete(s.marks, 0, first)
	return s.bytes - s.marks[0].bytes, s.records - s.marks[0].records
}
