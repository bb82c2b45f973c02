package points

import (
	"sync"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

const (
	// activityInterval is the minimum time between two rows of a source in table source_activity. A small
	// insert takes ten milliseconds of a processor, and there are several batches per second.
	activityInterval = time.Second
	// maxActiveSources is the maximum number of sources whose last row is remembered, with 80 bytes each.
	// When there are more, all are forgotten: rows are then written earlier.
	maxActiveSources = 200_000
)

// activity remembers the newest stored receive time of sources. It is safe for concurrent use.
type activity struct {
	mu     sync.Mutex
	stored map[sourceID]int64 // microseconds
}

// due reports whether the time at which points of a source were received must be stored.
func (a *activity) due(source sourceID, receivedAt int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	stored, ok := a.stored[source]
	return !ok || receivedAt >= stored+activityInterval.Microseconds()
}

// add remembers rows that were stored.
func (a *activity) add(rows []clickhouse.ActivityRow) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stored == nil || len(a.stored)+len(rows) > maxActiveSources {
		a.stored = make(map[sourceID]int64, len(rows))
	}
	for _, r := range rows {
		source := sourceID{Workspace: r.Workspace, Source: r.Source}
		a.stored[source] = max(a.stored[source], r.ReceivedAtUS)
	}
}
