// Package tail streams the points of topic points to readers as they arrive.
//
// One [Hub] serves all streams of a process. While a stream is open, one shared tail of
// the log reads the partitions that the streams need, once for all, from their end.
// Records of workspaces without a stream are skipped after reading the workspace. Of
// other records, only the series that a stream selects are decoded. The tail puts the
// selected points into the stream's queue, and the stream's goroutine removes them. So
// the tail never waits for a reader. If the queues are full, a reader that does not
// keep up is dropped.
//
// A stream has a [Position]: the offsets up to which it has received everything. A
// stream that is opened at a position first reads what it missed with its own tail, at
// its own pace, if the log still contains it. Then it joins the shared tail. It may
// receive some points twice, but misses none. If that is not possible, [Stream.Missed]
// reports it.
//
// The package reads the log and the names of sources. The caller encodes the stream for
// the wire.
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
	// PointsObservedAt returns the time at which the result of PointsTopic was last confirmed.
	PointsObservedAt() time.Time
	Observe(ctx context.Context) (kafka.TopicState, error)
	TailPoints(from map[int32]int64, fetchBytes int32) (*kafka.Tail, error)
}

// sourceStore reads the names of sources.
type sourceStore interface {
	SourceLabels(ctx context.Context, workspace uuid.UUID, known map[uuid.UUID]int64) ([]registry.SourceLabel, error)
}

// routeStore reads the routes that have assigned points to partitions.
type routeStore interface {
	// PartitionCounts returns the number of partitions of the topic with that id under each route.
	PartitionCounts(ctx context.Context, topic string, id [16]byte) ([]int32, error)
}

// Limits are the limits of streams. Zero means the default.
type Limits struct {
	Streams       int   // open streams in the process; default 1,000
	PerWorkspace  int   // open streams per workspace; default 100
	PerKey        int   // open streams per key; default 50
	BufferedBytes int64 // queued points of all streams; default 64 MiB
	// ReplayRecords is the maximum number of records of the log that are read for a stream that
	// is opened at a position; default 1,000,000.
	ReplayRecords int64
}

func (l Limits) withDefaults() Limits {
	set := func(value *int, standard int) {
		if *value == 0 {
			*value = standard
		}
	}
	set(&l.Streams, 1000)
	set(&l.PerWorkspace, 100)
	set(&l.PerKey, 50)
	if l.BufferedBytes == 0 {
		l.BufferedBytes = 64 << 20
	}
	if l.ReplayRecords == 0 {
		l.ReplayRecords = 1_000_000
	}
	return l
}

// Deps are the dependencies of a Hub.
type Deps struct {
	Log     pointsLog
	Sources sourceStore
	Routes  routeStore
	Limits  Limits
	Logger  *slog.Logger          // nil: slog.Default()
	Metrics prometheus.Registerer // nil: metrics are not registered
}

// Position is the position of a stream in the log. The stream has received all records
// below the offsets in Next.
type Position struct {
	Topic      [16]byte // id of topic points; the offsets are valid only for this topic
	Partitions int32    // number of partitions of the topic
	// SinceUS is a time of receipt, in microseconds since the Unix epoch. The stream
	// has received all points that were received before it.
	SinceUS int64
	Next    map[int32]int64 // next offset by partition
}

// Series is the series of a block. It is shared and must not be changed.
type Series struct {
	Source     uuid.UUID
	SourceName string
	Metric     string
	IsString   bool // the values are strings, not numbers
	Unit       *string
	Tags       map[string]string
}

// Block contains points of one series, ordered by time. It is shared by streams and must
// not be changed.
type Block struct {
	Series  *Series
	TS      []int64 // microseconds since the Unix epoch
	Numbers []float64
	Strings []*string
}

// Deletion reports deleted points of a source, or of one of its metrics. FromUS (inclusive)
// and ToUS (exclusive) limit the time if they are set.
type Deletion struct {
	Source       uuid.UUID
	SourceName   string // empty: no longer known
	Metric       *string
	FromUS, ToUS *int64
	WholeSource  bool // the source itself was deleted
}

// Delivery contains what a stream receives of one record of the log: points of one or more
// series, or deletions.
type Delivery struct {
	Blocks    []*Block
	Deletions []Deletion

	partition  int32
	next       int64 // the offset after the record
	receivedUS int64
	bytes      int64
}

// Points returns the number of points.
func (d *Delivery) Points() (n int) {
	for _, b := range d.Blocks {
		n += len(b.TS)
	}
	return n
}

// Reasons for which a stream is dropped or has missed points.
const (
	// SlowReader: the reader does not keep up with the stream.
	SlowReader = "slow_reader"
	// LogChanged: the topic was recreated, lost records, or got more partitions.
	LogChanged = "log_changed"
	// Trimmed: the log no longer contains the records that the stream missed.
	Trimmed = "trimmed"
	// TooFarBehind: the stream missed more than Limits.ReplayRecords records.
	TooFarBehind = "too_far_behind"
)

const (
	pollRecords = 500     // maximum records per poll
	tailBytes   = 4 << 20 // maximum bytes per fetch of the shared tail

	joinTimeout  = 5 * time.Second        // for a stream to join the shared tail
	storeTimeout = 2 * time.Second        // for a request to Kafka or Postgres
	retryDelay   = 250 * time.Millisecond // between attempts after a failure

	refreshInterval = 2 * time.Second // maximum age of the cached name and node of a source
)

func errTooMany(owner string, limit int) error {
	return fault.Newf(fault.Unavailable, "Too many streams are open: %s has at most %d", owner, limit).After(time.Second)
}
