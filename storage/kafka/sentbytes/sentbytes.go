// Package sentbytes counts the bytes that a process sent to the partitions of a topic.
package sentbytes

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka/marklist"
)

// Of returns the bytes of a record's key and value.
func Of(r *kgo.Record) int64 { return int64(len(r.Key) + len(r.Value)) }

// Counter counts the bytes of this process's records that a topic's consumer has not
// committed. The brokers only return offsets and the bytes of whole partitions. If record sizes
// differ, for example when large records follow a million small ones, the average says little about
// the bytes of the last hundred.
type Counter struct {
	mu         sync.Mutex
	partitions map[int32]*sent

	uncompressed, compressed atomic.Int64 // bytes of batches before and after compression
}

// OnProduceBatchWritten implements kgo.HookProduceBatchWritten. It records the compression ratio.
func (u *Counter) OnProduceBatchWritten(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.ProduceBatchMetrics) {
	u.uncompressed.Add(int64(m.UncompressedBytes))
	u.compressed.Add(int64(m.CompressedBytes))
}

// CompressedBytes estimates the size of bytes in the log from the compression ratio of the batches
// sent so far.
func (u *Counter) CompressedBytes(bytes int64) float64 {
	if plain, packed := u.uncompressed.Load(), u.compressed.Load(); plain > 0 {
		return float64(bytes) * float64(packed) / float64(plain)
	}
	return float64(bytes)
}

// sent contains the counts of the records that this process has sent to a partition.
type sent struct {
	marks          []sentMark // in order of offset; the newest record may have none
	lastOffset     int64      // offset of the newest record, valid if there are marks
	bytes, records int64      // Acknowledged since the process started
	unmeasured     int64      // bytes sent that the last measurement does not include
	inFlight       int64      // bytes of these that are not acknowledged

	measuredBytes, measuredRecords int64 // Acknowledged when the last measurement started
}

// sentMark is the offset of a record of this process, with the totals acknowledged before it.
type sentMark struct{ offset, bytes, records int64 }

// partition returns the counts of a partition and creates them if necessary.
func (u *Counter) partition(partition int32) *sent {
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

// AddInFlight counts records that are being sent.
func (u *Counter) AddInFlight(records []kgo.Record) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range records {
		s, bytes := u.partition(records[i].Partition), Of(&records[i])
		s.unmeasured += bytes
		s.inFlight += bytes
	}
}

// Failed removes a record that may not be in the log from the bytes in flight.
func (u *Counter) Failed(partition int32, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.partition(partition).inFlight -= bytes
}

// Acknowledged counts a record that is in the log.
func (u *Counter) Acknowledged(partition int32, offset, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.partition(partition)
	if len(s.marks) > 0 && offset <= s.lastOffset { // the topic was recreated
		s.marks = nil
	}
	// coarser marks overestimate the bytes slightly, and never underestimate them
	s.marks, _ = marklist.Limit(append(s.marks, sentMark{offset, s.bytes, s.records}))
	s.lastOffset = offset
	s.bytes += bytes
	s.records++
	s.inFlight -= bytes
}

// BeginMeasurement is called before the offsets are read. It returns the unmeasured acknowledged
// bytes of each partition, which endMeasurement subtracts. Records in flight and records sent
// meanwhile belong to the next measurement, so that nothing is counted twice.
func (u *Counter) BeginMeasurement() map[int32]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	measured := make(map[int32]int64, len(u.partitions))
	for p, s := range u.partitions {
		measured[p] = s.unmeasured - s.inFlight
		s.measuredBytes, s.measuredRecords = s.bytes, s.records
	}
	return measured
}

// EndMeasurement ends a measurement. measured is the result of beginMeasurement.
func (u *Counter) EndMeasurement(measured map[int32]int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p, bytes := range measured {
		u.partition(p).unmeasured -= bytes
	}
}

// Unmeasured returns the bytes sent that the last measurement does not include.
func (u *Counter) Unmeasured(partition int32) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.partitions[partition]; s != nil {
		return s.unmeasured
	}
	return 0
}

// Lag returns the lag of the consumer in records of this process, for a partition with the given end
// offset and next offset to commit. bytes counts the records that were acknowledged when the last
// measurement started, records all before end, and since those acknowledged after that start. lag
// removes the marks of committed records.
func (u *Counter) Lag(partition int32, next, end int64) (bytes, records, since int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.partitions[partition]
	if s == nil {
		return 0, 0, 0
	}
	index := func(offset int64) (i int, found bool) {
		return slices.BinarySearchFunc(s.marks, offset, func(m sentMark, offset int64) int {
			return cmp.Compare(m.offset, offset)
		})
	}
	before := s.records // Acknowledged records before end
	if i, _ := index(end); i < len(s.marks) {
		before = s.marks[i].records
	}
	since = max(before-s.measuredRecords, 0)
	if len(s.marks) == 0 {
		return 0, 0, since
	}
	if next > s.lastOffset {
		s.marks = nil
		return 0, 0, since
	}
	// The last mark before next stays: records between it and the following mark may have no
	// mark.
	first, found := index(next)
	if !found && first > 0 {
		first--
	}
	s.marks = slices.Delete(s.marks, 0, first)
	return max(s.measuredBytes-s.marks[0].bytes, 0), max(before-s.marks[0].records, 0), since
}
