package clickhouse

import (
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// Columns are rows of table points or states by column, all of one length. They
// are made to be kept, reset and filled again.
type Columns[V float64 | string] struct {
	Series   native.Runs
	TS       []int64 // microseconds since the Unix epoch
	Values   []V
	Versions native.Runs
}

// PointColumns are rows of table points.
type PointColumns = Columns[float64]

// StateColumns are rows of table states.
type StateColumns = Columns[string]

// Len returns the number of rows.
func (c *Columns[V]) Len() int { return len(c.TS) }

// Append adds a row.
func (c *Columns[V]) Append(series uint64, ts int64, value V, version uint64) {
	c.Series.Append(series, 1)
	c.TS, c.Values = append(c.TS, ts), append(c.Values, value)
	c.Versions.Append(version, 1)
}

// Reset forgets the rows and keeps the room.
func (c *Columns[V]) Reset() {
	clear(c.Values) // lets go of texts
	c.Series.Truncate(0)
	c.TS, c.Values = c.TS[:0], c.Values[:0]
	c.Versions.Truncate(0)
}

// LatestRow is the newest point of a series as far as one batch knows.
type LatestRow struct {
	Workspace, Source uuid.UUID
	Series            uint64
	TS                int64 // microseconds since the Unix epoch
	Value             float64
	Text              string
	Version           uint64
}

// ActivityRow says when a source was last heard from.
type ActivityRow struct {
	Workspace, Source uuid.UUID
	ReceivedAtUS      int64 // microseconds since the Unix epoch
}

// SeriesRow is the identity of a series.
type SeriesRow struct {
	ID                uint64
	Workspace, Source uuid.UUID
	Metric            string
	Tags              map[string]string
	Kind              uint8
}

// TimeOf returns a time of microseconds since the Unix epoch.
func TimeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }
