package clickhouse

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// Columns are rows of table points or states by column, all of one length. They can be reset
// and filled again.
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

// ordered reports whether the rows are in the order of the table, with one row of each point.
func (c *Columns[V]) ordered() bool {
	row, last := 0, uint64(0)
	for series, rows := range c.Series.All() {
		if row > 0 && series <= last {
			return false
		}
		for i := row + 1; i < row+rows; i++ {
			if c.TS[i] <= c.TS[i-1] {
				return false
			}
		}
		row, last = row+rows, series
	}
	return true
}

// Reset removes all rows and keeps the memory.
func (c *Columns[V]) Reset() {
	clear(c.Values) // releases strings
	c.Series.Truncate(0)
	c.TS, c.Values = c.TS[:0], c.Values[:0]
	c.Versions.Truncate(0)
}

// LatestRow is the newest point of a series in one batch.
type LatestRow struct {
	Workspace, Source uuid.UUID
	Series            uint64
	TS                int64   // microseconds since the Unix epoch
	Value             float64 // 0 if the point is a string
	Text              string
	Version           uint64
}

// LatestColumns are rows of table latest by column, all of one length. They can be reset and
// filled again.
type LatestColumns struct {
	Workspaces, Sources []uuid.UUID
	Series              []uint64
	TS                  []int64
	Values              []float64
	Texts               []string
	Versions            []uint64
}

// LatestOf returns columns with these rows.
func LatestOf(rows ...LatestRow) *LatestColumns {
	c := &LatestColumns{}
	for i := range rows {
		c.Append(&rows[i])
	}
	return c
}

// Len returns the number of rows.
func (c *LatestColumns) Len() int { return len(c.TS) }

// Append adds a row.
func (c *LatestColumns) Append(r *LatestRow) {
	c.Workspaces, c.Sources = append(c.Workspaces, r.Workspace), append(c.Sources, r.Source)
	c.Series, c.TS = append(c.Series, r.Series), append(c.TS, r.TS)
	c.Values, c.Texts = append(c.Values, r.Value), append(c.Texts, r.Text)
	c.Versions = append(c.Versions, r.Version)
}

// Grow increases the capacity for a number of further rows.
func (c *LatestColumns) Grow(rows int) {
	c.Workspaces, c.Sources = slices.Grow(c.Workspaces, rows), slices.Grow(c.Sources, rows)
	c.Series, c.TS = slices.Grow(c.Series, rows), slices.Grow(c.TS, rows)
	c.Values, c.Texts = slices.Grow(c.Values, rows), slices.Grow(c.Texts, rows)
	c.Versions = slices.Grow(c.Versions, rows)
}

// Reset removes all rows and keeps the memory.
func (c *LatestColumns) Reset() {
	clear(c.Texts) // releases the strings
	c.Workspaces, c.Sources = c.Workspaces[:0], c.Sources[:0]
	c.Series, c.TS, c.Values = c.Series[:0], c.TS[:0], c.Values[:0]
	c.Texts, c.Versions = c.Texts[:0], c.Versions[:0]
}

// ExemplarRow is an exemplar of a series.
type ExemplarRow struct {
	Series  uint64
	TS      int64  // microseconds since the Unix epoch
	Labels  string // a JSON object, sorted by name
	Value   float64
	Version uint64
}

// ActivityRow is the time of the newest request with points of a source.
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

// TimeOf converts microseconds since the Unix epoch to a time.
func TimeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }
