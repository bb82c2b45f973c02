package query

import (
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// maxRoom bounds the values that all answers under way may hold together. A
// value takes up to 50 bytes until its answer is sent: 440 MB at worst.
const maxRoom = 4 * (maxCells + maxRowSeries*seriesRoom)

// seriesRoom is what a series of the page counts for, its name and tags: about a kilobyte.
const seriesRoom = 20

// room bounds the memory of answers that are being made.
type room struct{ used, refused atomic.Int64 }

// take reserves room for an answer of so many values, and refuses when there is
// none left. The caller calls release once the answer is out.
func (m *room) take(values int64) (release func(), err error) {
	if m.used.Add(values) > maxRoom {
		m.used.Add(-values)
		m.refused.Add(1)
		return nil, fault.New(fault.Unavailable, "Too many large queries are running").After(time.Second)
	}
	return func() { m.used.Add(-values) }, nil
}
