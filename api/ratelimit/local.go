package ratelimit

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/redis"
)

const (
	// exhaustedTTL is how long a workspace without remaining requests is refused without
	// calling Redis. It is short because the clock of Redis may change.
	exhaustedTTL = time.Second
	// windowMargin is the time before the end of a window in which Redis is called
	// nevertheless: the clock of Redis is known only to within half a round trip.
	windowMargin = DefaultTimeout
)

// localCounts are the counts of requests that this process knows. They contain only workspaces
// with requests on the current day.
type localCounts struct {
	mu         sync.Mutex
	workspaces map[uuid.UUID]*workspaceCounts
	day        int64 // number of the newest day
}

// workspaceCounts are the counts of a workspace in its minute and its day.
type workspaceCounts struct {
	windows   [2]redis.Window
	confirmed time.Time // last answer of Redis; the zero time: none
}

// current returns the counts of a workspace in the windows of now. It creates them if there
// are none, and resets the counts of other windows. If the next minute was seen already, it
// uses and returns the start of that minute instead of now, because clocks differ slightly.
func (m *localCounts) current(
	workspace uuid.UUID, now time.Time, lengths [2]time.Duration,
) (*workspaceCounts, time.Time) {
	k := m.workspaces[workspace]
	if k == nil {
		k = &workspaceCounts{}
		if m.workspaces == nil {
			m.workspaces = map[uuid.UUID]*workspaceCounts{}
		}
		m.workspaces[workspace] = k
	}
	if k.windows[0].Number == windowNumber(now, lengths[0])+1 {
		now = windowStart(k.windows[0].Number, lengths[0])
	}
	for i := range k.windows {
		if number := windowNumber(now, lengths[i]); k.windows[i].Number != number {
			k.windows[i] = redis.Window{Number: number}
		}
	}
	m.sweep(k.windows[1].Number)
	return k, now
}

// sweep removes the workspaces without requests on the given day, when the day changes.
func (m *localCounts) sweep(day int64) {
	if day == m.day {
		return
	}
	m.day = day
	for workspace, k := range m.workspaces {
		if k.windows[1].Number != day {
			delete(m.workspaces, workspace)
		}
	}
}

// windows returns the counts of a workspace, which are sent to Redis.
func (m *localCounts) windows(workspace uuid.UUID) [2]redis.Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.workspaces[workspace]; k != nil {
		return k.windows
	}
	return [2]redis.Window{}
}

// merge stores the counts of an answer of Redis if they are higher. Answers may arrive in
// another order than they were sent.
func (m *localCounts) merge(workspace uuid.UUID, answer *redis.RequestResult, lengths [2]time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, now := m.current(workspace, answer.At, lengths)
	k.confirmed = time.Now()
	for i := range k.windows {
		if windowNumber(answer.At, lengths[i]) == windowNumber(now, lengths[i]) {
			k.windows[i].Count = max(k.windows[i].Count, answer.Counts[i])
		}
	}
}

// exhausted reports whether a window is known to have no requests left. Counts only grow, so
// Redis need not be called until the end of the window.
func (m *localCounts) exhausted(
	workspace uuid.UUID, limits [2]int64, c *clock, lengths [2]time.Duration,
) (now time.Time, counts [2]int64, exhausted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.workspaces[workspace]
	if k == nil || time.Since(k.confirmed) > exhaustedTTL {
		return now, counts, false
	}
	now = c.now()
	for i, w := range k.windows {
		if w.Number == windowNumber(now, lengths[i]) {
			counts[i] = w.Count
			exhausted = exhausted || w.Count >= limits[i] && w.Number == windowNumber(now.Add(windowMargin), lengths[i])
		}
	}
	return now, counts, exhausted
}

// take counts a request in this process alone, unless a limit is reached.
func (m *localCounts) take(
	workspace uuid.UUID, limits [2]int64, now time.Time, lengths [2]time.Duration,
) (countedAt time.Time, counts [2]int64, taken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, now := m.current(workspace, now, lengths)
	taken = k.windows[0].Count < limits[0] && k.windows[1].Count < limits[1]
	for i := range k.windows {
		if taken {
			k.windows[i].Count++
		}
		counts[i] = k.windows[i].Count
	}
	return now, counts, taken
}

// peek returns the counts in the windows of now.
func (m *localCounts) peek(
	workspace uuid.UUID, now time.Time, lengths [2]time.Duration,
) (countedAt time.Time, counts [2]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.workspaces[workspace]
	if k == nil {
		return now, counts
	}
	k, now = m.current(workspace, now, lengths)
	return now, [2]int64{k.windows[0].Count, k.windows[1].Count}
}
