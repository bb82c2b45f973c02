package query

import (
	"time"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// maxValues bounds the values of all concurrent answers in memory. A value occupies up to 50
// bytes until its answer is sent: 440 MB in the worst case.
const maxValues = 4 * (maxCells + columns.MaxItems*valuesPerSeries)

// valuesPerSeries is how many values a series of the page counts as, for its name and tags:
// about a kilobyte.
const valuesPerSeries = 20

// reserve reserves a share of the budget for an answer of the given number of values, or
// returns an Unavailable error. The caller must release it after the answer is sent.
func (a *api) reserve(values int64) (*budget.Share, error) {
	share, ok := a.values.TryAcquire(values)
	if !ok {
		return nil, fault.New(fault.Unavailable, "Too many large queries are running").After(time.Second)
	}
	return share, nil
}
