package machine

import "time"

// meter turns counters that only grow into rates. It remembers the counters of
// the last two rounds, so what vanished is forgotten by itself.
type meter struct {
	last, this         map[string]float64
	lastTime, thisTime time.Time
}

// begin starts a round that reads its counters at now.
func (m *meter) begin(now time.Time) {
	m.last, m.this = m.this, make(map[string]float64, len(m.this))
	m.lastTime, m.thisTime = m.thisTime, now
}

// elapsed is the time between this round and the last in seconds, 0 in the first.
func (m *meter) elapsed() float64 {
	if m.lastTime.IsZero() {
		return 0
	}
	return m.thisTime.Sub(m.lastTime).Seconds()
}

// growth returns by how much a counter grew since the last round. It is false for
// a counter that is new, or that went down: it was reset.
func (m *meter) growth(counter string, value float64) (float64, bool) {
	m.this[counter] = value
	before, ok := m.last[counter]
	if !ok || value < before {
		return 0, false
	}
	return value - before, true
}

// rate is growth a second.
func (m *meter) rate(counter string, value float64) (float64, bool) {
	grown, ok := m.growth(counter, value)
	elapsed := m.elapsed()
	if !ok || elapsed <= 0 {
		return 0, false
	}
	return grown / elapsed, true
}
