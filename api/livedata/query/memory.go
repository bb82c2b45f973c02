package query

import (
	"time"

	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// maxValues bounds the values that all answers under way may hold together. A
// value takes up to 50 bytes until its answer is sent: 440 MB at worst.
const maxValues = 4 * (maxCells + maxRowSeries*valuesPerSeries)

// valuesPerSeries is what a series of the page counts as, its name and tags: about a kilobyte.
const valuesPerSeries = 20

// reserve takes a share of the budget for an answer of so many values, and refuses when there
// is none left. The caller releases it once the answer is out.
func (a *api) reserve(values int64) (*budget.Share, error) {
	share, ok := a.values.Take(values)
	if !ok {
		return nil, fault.New(fault.Unavailable, "Too many large queries are running").After(time.Second)
	}
	return share, nil
}
