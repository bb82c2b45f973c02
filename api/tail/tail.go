// Package tail gives readers the points of topic points as they arrive.
//
// One [Hub] serves all streams of a process. While any is open, one tail of the log
// reads the partitions that any of them needs, from their end, once for all. Records
// of workspaces without a stream are passed over after a look at the workspace; of the
// others only the series that a stream selects are decoded. What a stream selects is
// put into its queue, from where its own goroutine takes it: the tail never waits for
// a reader. A reader that does not keep up is dropped when the queues are full.
//
// A stream knows its [Position]: the offsets up to which it has had everything. One
// that comes back with it is brought up to date by its own tail, at its own pace,
// as long as the log still has what it missed, and then joins the others. It may get
// some points again, and misses none; else it is told.
//
// The package reads the log and asks what sources are called. How a stream looks on
// the wire is its caller's.
package tail

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// pointsLog is topic points.
type pointsLog interface {
	PointsTopic() kafka.TopicInfo
	// PointsSeen is when the topic was last found to be as PointsTopic says.
	PointsSeen() time.Time
	Observe(ctx context.Context) (kafka.TopicState, error)
	TailPoints(from map[int32]int64, fetchBytes int32) (*kafka.Tail, error)
}

// sourceStore knows what sources are called.
type sourceStore interface {
	SourceLabels(ctx context.Context, workspace uuid.UUID, known map[uuid.UUID]int64) ([]registry.SourceLabel, error)
}

// routeStore knows by which routes points were divided among partitions.
type routeStore interface {
	// PartitionCounts returns how many partitions a topic of that id had under each route.
	PartitionCounts(ctx context.Context, topic string, id [16]byte) ([]int32, error)
}

// Limits bound what streams may take. Zero: the default.
type Limits struct {
	Streams       int   // open in the process; 1,000
	OfWorkspace   int   // of them of one workspace; 100
	OfKey         int   // of them by one key; 50
	BufferedBytes int64 // of points that wait for readers, of all streams; 64 MiB
	// ReplayRecords is the maximum number of records of the log that are read for a stream that
	// comes back; 1,000,000.
	ReplayRecords int64
}

func (l Limits) withDefaults() Limits {
	set := func(value *int, standard int) {
		if *value == 0 {
			*value = standard
		}
	}
	set(&l.Streams, 1000)
	set(&l.OfWorkspace, 100)
	set(&l.OfKey, 50)
	if l.BufferedBytes == 0 {
		l.BufferedBytes = 64 << 20
	}
	if l.ReplayRecords == 0 {
		l.ReplayRecords = 1_000_000
	}
	return l
}

// Deps is what a Hub is made of.
type Deps struct {
	Log     pointsLog
	Sources sourceStore
	Routes  routeStore
	Limits  Limits
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: nowhere
}

// Position is up to where a stream has had everything: by partition, the next
// offset.
type Position struct {
	Topic      [16]byte // the id of topic points: offsets mean nothing in another one
	Partitions int32    // of the topic
	// SinceUS is a time of receipt: points received before it are not missing.
	// Microseconds since the Unix epoch.
	SinceUS int64
	Next    map[int32]int64
}

// Series is what a block's points are of. It is shared and not to be changed.
type Series struct {
	Source     uuid.UUID
	SourceName string
	Metric     string
	Text       bool // of strings, not numbers
	Unit       *string
	Tags       map[string]string
}

// Block is points of one series, in the order of time. It is shared among streams
// and not to be changed.
type Block struct {
	Series  *Series
	TS      []int64 // microseconds since the Unix epoch
	Numbers []float64
	Texts   []*string
}

// Deletion says that points are gone: those of a source, or of one of its metrics, from
// a time on (inclusive) and up to another (exclusive) where these are given.
type Deletion struct {
	Source       uuid.UUID
	SourceName   string // empty: not known any more
	Metric       *string
	FromUS, ToUS *int64
	Whole        bool // the source itself is gone
}

// Delivery is what one record of the log has for a stream: points of different
// series, or deletions.
type Delivery struct {
	Blocks    []*Block
	Deletions []Deletion

	partition  int32
	next       int64 // the offset after the record
	receivedUS int64
	bytes      int64
}

// Points is how many there are.
func (d *Delivery) Points() (n int) {
	for _, b := range d.Blocks {
		n += len(b.TS)
	}
	return n
}

// Why a stream is dropped or has missed something.
const (
	// SlowReader: the reader does not take what is there for it.
	SlowReader = "slow_reader"
	// LogChanged: the log was made again, lost records, or got more partitions.
	LogChanged = "log_changed"
	// Trimmed: the log does not have any more what the stream missed.
	Trimmed = "trimmed"
	// TooFarBehind: more was missed than is read again for one stream.
	TooFarBehind = "too_far_behind"
)

const (
	pollRecords = 500     // of one look into the log
	tailBytes   = 4 << 20 // of one answer of a broker to the shared tail

	// How long a stream waits for the tail to take it in, and how long the tail
	// waits for Kafka and Postgres.
	joinLimit   = 5 * time.Second
	storeLimit  = 2 * time.Second
	failurePace = 250 * time.Millisecond // after a failure, until it is tried again

	refreshInterval = 2 * time.Second // how old the name and the node of a source may be
)

func errTooMany(whose string, most int) error {
	return fault.Newf(fault.Unavailable, "Too many streams are open: %s has at most %d", whose, most).After(time.Second)
}
