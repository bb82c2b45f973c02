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

// inLog returns what so many bytes take in the log, by what batches took so far.
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
	unseen         int64      // bytes handed over that the last look at the offsets has not seen
	flying         int64      // bytes of them that are not answered yet

	lookedBytes, lookedRecords int64 // acknowledged when the last look began
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
		s, bytes := u.of(records[i].Partition), bytesOf(&records[i])
		s.unseen += bytes
		s.flying += bytes
	}
}

// failed notes a record that may not be in the log.
func (u *unstored) failed(partition int32, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.of(partition).flying -= bytes
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
	s.flying -= bytes
	if len(s.marks) > maxMarks { // coarser, and so a little too much, never too little
		kept := s.marks[:0]
		for i := 0; i < len(s.marks); i += 2 {
			kept = append(kept, s.marks[i])
		}
		s.marks = kept
	}
}

// look begins a look at the offsets, which sees what is answered by now, and gives its bytes
// of each partition. They are taken off by seen; what is on its way, and what comes
// meanwhile, is left for the next look, so that nothing is counted twice.
func (u *unstored) look() map[int32]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	looked := make(map[int32]int64, len(u.partitions))
	for p, s := range u.partitions {
		looked[p] = s.unseen - s.flying
		s.lookedBytes, s.lookedRecords = s.bytes, s.records
	}
	return looked
}

// seen ends a look.
func (u *unstored) seen(looked map[int32]int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p, bytes := range looked {
		u.of(p).unseen -= bytes
	}
}

// unseen returns the bytes handed over that the last look has not seen.
func (u *unstored) unseen(partition int32) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.partitions[partition]; s != nil {
		return s.unseen
	}
	return 0
}

// behind returns the records of ours that the consumer has not committed, of a partition that
// ends at offset end, when the next one it will is at offset next; the bytes of those that
// were answered when the last look began, and how many came since. It forgets those before.
func (u *unstored) behind(partition int32, next, end int64) (bytes, records, since int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.partitions[partition]
	if s == nil {
		return 0, 0, 0
	}
	at := func(offset int64) (place int, found bool) {
		return slices.BinarySearchFunc(s.marks, offset, func(m sentMark, offset int64) int {
			return cmp.Compare(m.offset, offset)
		})
	}
	before := s.records // those before the end
	if i, _ := at(end); i < len(s.marks) {
		before = s.marks[i].records
	}
	since = max(before-s.lookedRecords, 0)
	if len(s.marks) == 0 {
		return 0, 0, since
	}
	if next > s.last {
		s.marks = nil
		return 0, 0, since
	}
	// The last mark before next stays: between it and the one behind it there may
	// be records that have no mark.
	first, found := at(next)
	if !found && first > 0 {
		first--
	}
	s.marks = slices.Delete(s.marks, 0, first)
	return max(s.lookedBytes-s.marks[0].bytes, 0), max(before-s.marks[0].records, 0), since
}
