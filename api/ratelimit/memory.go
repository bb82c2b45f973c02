package ratelimit

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/storage/redis"
)

const (
	// trusted is for how long a workspace that had no request left is refused without
	// asking Redis, which may since have been given another clock.
	trusted = time.Second
	// margin is how far before the end of a window that stops: the clock of Redis is
	// known to within half a round trip.
	margin = DefaultTimeout
)

// memory is what this process knows to have passed. It holds the workspaces that asked
// today, which are no more than there are.
type memory struct {
	mu         sync.Mutex
	workspaces map[uuid.UUID]*known
	day        int64 // the newest
}

// known is what is known of a workspace: of its minute and its day.
type known struct {
	windows [2]redis.Window
	heard   time.Time // when Redis said so last; the zero time: never
}

// at returns what is known of a workspace in the windows of now, made if need be. What
// is of other windows counts for nothing. Now is put off to the window's start where
// a later one was seen already: clocks differ by a little.
func (m *memory) at(workspace uuid.UUID, now time.Time, lengths [2]time.Duration) (*known, time.Time) {
	k := m.workspaces[workspace]
	if k == nil {
		k = &known{}
		if m.workspaces == nil {
			m.workspaces = map[uuid.UUID]*known{}
		}
		m.workspaces[workspace] = k
	}
	if k.windows[0].Number == numberOf(now, lengths[0])+1 {
		now = start(k.windows[0].Number, lengths[0])
	}
	for i := range k.windows {
		if number := numberOf(now, lengths[i]); k.windows[i].Number != number {
			k.windows[i] = redis.Window{Number: number}
		}
	}
	m.sweep(k.windows[1].Number)
	return k, now
}

// sweep forgets who has not asked since yesterday.
func (m *memory) sweep(day int64) {
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

// of returns what Redis is told.
func (m *memory) of(workspace uuid.UUID) [2]redis.Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.workspaces[workspace]; k != nil {
		return k.windows
	}
	return [2]redis.Window{}
}

// learn remembers an answer of Redis. Answers may come in another order than they
// were given.
func (m *memory) learn(workspace uuid.UUID, answer *redis.RequestAnswer, lengths [2]time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, at := m.at(workspace, answer.At, lengths)
	k.heard = time.Now()
	for i := range k.windows {
		if numberOf(answer.At, lengths[i]) == numberOf(at, lengths[i]) {
			k.windows[i].Count = max(k.windows[i].Count, answer.Counts[i])
		}
	}
}

// spent reports whether it is known that a window has no room left: counts only grow,
// so Redis need not be asked until its end.
func (m *memory) spent(
	workspace uuid.UUID, limits [2]int64, c *clock, lengths [2]time.Duration,
) (now time.Time, counts [2]int64, spent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.workspaces[workspace]
	if k == nil || time.Since(k.heard) > trusted {
		return now, counts, false
	}
	now = c.now()
	for i, w := range k.windows {
		if w.Number == numberOf(now, lengths[i]) {
			counts[i] = w.Count
			spent = spent || w.Count >= limits[i] && w.Number == numberOf(now.Add(margin), lengths[i])
		}
	}
	return now, counts, spent
}

// take counts a request in this process alone, if there is room.
func (m *memory) take(
	workspace uuid.UUID, limits [2]int64, now time.Time, lengths [2]time.Duration,
) (at time.Time, counts [2]int64, taken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, now := m.at(workspace, now, lengths)
	taken = k.windows[0].Count < limits[0] && k.windows[1].Count < limits[1]
	for i := range k.windows {
		if taken {
			k.windows[i].Count++
		}
		counts[i] = k.windows[i].Count
	}
	return now, counts, taken
}

// look reports what is known, in the windows of now.
func (m *memory) look(workspace uuid.UUID, now time.Time, lengths [2]time.Duration) (at time.Time, counts [2]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.workspaces[workspace]
	if k == nil {
		return now, counts
	}
	k, now = m.at(workspace, now, lengths)
	return now, [2]int64{k.windows[0].Count, k.windows[1].Count}
}
