package pointblock

import (
	"math"

	"github.com/google/uuid"
)

// AnyRoute is the number of the route of a record that does not say by which it was
// sent: none is too new for it.
const AnyRoute int64 = math.MaxInt64

// Route says how the points of a topic are divided among its partitions. A new one
// begins when the topic gets more partitions or is created again. At any moment all
// producers send by one route, and none goes back to an earlier one, so the records of
// a series are ordered by their route first and then by their offsets
// (see docs/adr/0049-routes-of-points.md).
type Route struct {
	Number     int64 // from 1
	TopicID    [16]byte
	Partitions int32
}

// Partition returns the partition of a source's points and deletions.
func (r Route) Partition(source uuid.UUID) int32 { return Partition(source, r.Partitions) }
