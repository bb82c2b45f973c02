// Package pointblock is the codec of topic "points": it writes and reads the
// message livegraph.events.v1.PointsRecord (schemas/events/v1/points.proto)
// without the generated code's objects, because this is the hot path of both
// the API and the consumer. The two are wire-compatible both ways, and the tests
// hold them to it.
//
// The model: a record belongs to one workspace and holds series; a series holds
// its whole identity and its points as two columns, time and value. Writing, the
// [Encoder] takes columns. Reading, [Decode] lists the record's [Span]s (one a
// series) and checks every byte once; points are decoded later, straight into
// the reader's columns, or never, when the span is of no interest.
//
// The package owns the wire format, the fingerprint of a series' identity, the
// partition of a source and the version of a point. It does no I/O.
package pointblock

import "github.com/google/uuid"

// Kind is the type of a series' values and part of its identity. The numbers are
// those of the proto enum.
type Kind uint8

// The kinds. Booleans are numbers, 0 and 1.
const (
	KindNumber Kind = 1
	KindString Kind = 2
)

// MaxRecordBytes is the maximum number of bytes the Encoder puts into a record's value: 1 MiB
// less 4 KiB for key, headers and the record batch around it.
const MaxRecordBytes = 1<<20 - 4<<10

// MaxTimestampUS is the last storable time, microseconds since the Unix epoch:
// 2299-12-31T23:59:59.999999Z, where ClickHouse's DateTime64 ends. The first is 0.
const MaxTimestampUS = 10_413_791_999_999_999

// Message is a record on its way to the topic.
type Message struct {
	Partition int32
	Key       []byte // the source's 16 bytes, nil when the record has several sources
	Value     []byte
	Route     int64 // number of the Route by which Partition was chosen; 0: by none
}

// Position is where a record is in the topic.
type Position struct {
	Partition int32
	Offset    int64
}

// SeriesRef is how a registered series is known: the id under which its points
// are stored and the fingerprint of its identity.
type SeriesRef struct {
	ID          uint64
	Fingerprint Fingerprint
}

// Deletion removes points accepted before it: those of a source, narrowed to a
// metric and to [FromUS, ToUS) where these are set. WholeSource, which excludes
// the others, says that the source itself is gone: points that follow are void
// too, because its id is never used again. WholeWorkspace, which stands alone, says
// the same of the record's workspace.
type Deletion struct {
	Source         uuid.UUID
	Metric         string
	HasMetric      bool
	FromUS, ToUS   int64 // microseconds since the Unix epoch
	HasFrom        bool
	HasTo          bool
	WholeSource    bool
	WholeWorkspace bool
}

// offsetBits is how much of a version is the offset; the rest is the generation.
const offsetBits = 48

// Version is the version of all points of a record: of two points with the same
// series and time, that with the higher version stands. The generation goes up
// whenever a topic's offsets lose their meaning (see docs/adr/0002-point-block.md).
func Version(generation uint16, offset int64) uint64 {
	return uint64(generation)<<offsetBits | uint64(offset)&(1<<offsetBits-1)
}

// Partition is the partition of a source's points and deletions: that of Kafka's
// default partitioner for the source's 16 bytes as the key. Records of several
// sources have no key, so the producer sets the partition by this.
func Partition(source uuid.UUID, partitions int32) int32 {
	return int32(murmur2(source[:])&0x7fffffff) % partitions
}

// murmur2 is Kafka's hash of keys (org.apache.kafka.common.utils.Utils#murmur2).
func murmur2(b []byte) uint32 {
	const seed, m = 0x9747b28c, 0x5bd1e995
	h := uint32(seed) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> 24
		k *= m
		h = h*m ^ k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
