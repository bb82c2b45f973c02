package pointblock

import (
	"math"

	"github.com/google/uuid"
)

// AnyRoute is the route number of a record that does not contain one. It is not older than any route.
const AnyRoute int64 = math.MaxInt64

// Route determines how the points of a topic are distributed to its partitions. There is a new route
// when the topic gets more partitions or is created again. At any time all producers use the same
// route, and they never return to an earlier one, so the records of a series are ordered by route first
// and then by offset (see docs/adr/0049-routes-of-points.md).
type Route struct {
	Number     int64 // from 1
	TopicID    [16]byte
	Partitions int32
}

// Partition returns the partition of a source's points and deletions.
func (r Route) Partition(source uuid.UUID) int32 { return Partition(source, r.Partitions) }
