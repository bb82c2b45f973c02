// Package pointblock implements the codec of topic points. It encodes and decodes the message
// livegraph.events.v1.PointsRecord (schemas/events/v1/points.proto) without the objects of the
// generated code, because this is the hot path of the API and the consumer. It is wire-compatible with
// the generated code in both directions, which the tests verify.
//
// A record belongs to one workspace and contains series. A series contains its complete identity and
// its points as two columns, time and value. The [Encoder] accepts columns. [Decode] returns the
// record's [Span]s, one per series, and validates every byte once. Points are decoded later, directly
// into the reader's columns, or not at all if the reader does not need the span.
//
// The package defines the wire format, the fingerprint of a series' identity, the partition of a
// source and the version of a point. It does no I/O.
package pointblock

import "github.com/google/uuid"

// Kind is the type of a series' values and part of its identity. The constants have the numbers of the
// proto enum.
type Kind uint8

// Kinds of values. Booleans are numbers, 0 and 1. Values of Prometheus that are no finite numbers are texts of
// KindSpecial (of histograms: see package nativehistogram), beside the series of numbers with the same source, metric
// and tags, so that readers of numbers never see them.
const (
	KindNumber  Kind = 1
	KindString  Kind = 2
	KindSpecial Kind = 3
)

// The values of series of KindSpecial. Stale marks the end of a series.
const (
	SpecialNaN      = "NaN"
	SpecialInf      = "+Inf"
	SpecialMinusInf = "-Inf"
	SpecialStale    = "stale"
)

// MaxRecordBytes is the maximum size of a record's value that the Encoder creates: 1 MiB minus 4 KiB
// for the key, headers and record batch.
const MaxRecordBytes = 1<<20 - 4<<10

// MaxTimestampUS is the maximum time that can be stored, in microseconds since the Unix epoch. It is
// the maximum of ClickHouse's DateTime64, 2299-12-31T23:59:59.999999Z. The minimum is 0.
const MaxTimestampUS = 10_413_791_999_999_999

// Message is a record to produce to the topic.
type Message struct {
	Partition int32
	Key       []byte // the source's 16 bytes, nil when the record has several sources
	Value     []byte
	Route     int64 // number of the Route that Partition was chosen by; 0: none
}

// Position is the partition and offset of a record in the topic.
type Position struct {
	Partition int32
	Offset    int64
}

// SeriesRef refers to a registered series by the id that its points are stored with and the fingerprint
// of its identity.
type SeriesRef struct {
	ID          uint64
	Fingerprint Fingerprint
}

// Deletion deletes points that were accepted before it. It applies to the points of a source,
// restricted to a metric and to [FromUS, ToUS) if these are set. WholeSource means that the source
// itself was deleted: later points are discarded, too, because its id is never reused. It excludes the
// restrictions. WholeWorkspace means the same for the record's workspace and excludes all other fields.
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

// offsetBits is the number of bits of a version for the offset; the others are the generation.
const offsetBits = 48

// Version returns the version of all points of a record. Of two points with the same series and time,
// the one with the higher version is valid. The generation increases whenever a topic's offsets start
// again (see docs/adr/0002-point-block.md).
func Version(generation uint16, offset int64) uint64 {
	return uint64(generation)<<offsetBits | uint64(offset)&(1<<offsetBits-1)
}

// Partition returns the partition of a source's points and deletions. It is the one that Kafka's default
// partitioner chooses for the source's 16 bytes as the key. Records of several sources have no key, so
// the producer sets the partition explicitly.
func Partition(source uuid.UUID, partitions int32) int32 {
	return int32(murmur2(source[:])&0x7fffffff) % partitions
}

// murmur2 returns Kafka's hash of a key (org.apache.kafka.common.utils.Utils#murmur2).
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
