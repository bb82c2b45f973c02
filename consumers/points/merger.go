package points

import "slices"

// row is a point of a series, without its value.
type row struct {
	ts      int64
	version uint64
	index   int32 // index of the value
}

// before reports whether x sorts before y: by time, and by descending version if the times are
// equal.
func (x *row) before(y *row) bool {
	return x.ts < y.ts || (x.ts == y.ts && x.version > y.version)
}

// merger sorts the rows of a series by merging sorted runs. Each producer sends its rows in
// order; only rows of different producers and rows that were sent twice are out of order. Merging
// two runs takes one step a row, whereas a general sort takes as many as the logarithm of the
// number of rows. A merger reuses its memory for the next series.
type merger struct {
	rows, buffer []row
	ends         []int // end indexes of the runs
}

// sort returns the rows in the order of time, and of several rows with one time only the one with
// the highest version. The result is valid until the next call.
func (m *merger) sort(ts []int64, versions []uint64) []row {
	m.rows, m.ends = slices.Grow(m.rows[:0], len(ts)), m.ends[:0]
	for i := range ts {
		next := row{ts: ts[i], version: versions[i], index: int32(i)}
		if i > 0 && next.before(&m.rows[i-1]) {
			m.ends = append(m.ends, i)
		}
		m.rows = append(m.rows, next)
	}
	m.ends = append(m.ends, len(ts))
	m.buffer = slices.Grow(m.buffer[:0], len(ts))[:len(ts)]
	for len(m.ends) > 1 {
		m.merge()
	}
	m.rows = slices.CompactFunc(m.rows, func(x, y row) bool { return x.ts == y.ts })
	return m.rows
}

// merge merges each pair of neighbouring runs into one.
func (m *merger) merge() {
	merged, begin := 0, 0
	for i := 0; i < len(m.ends); i += 2 {
		middle := m.ends[i]
		end := middle
		if i+1 < len(m.ends) {
			end = m.ends[i+1]
		}
		mergeRuns(m.buffer[begin:end], m.rows[begin:middle], m.rows[middle:end])
		m.ends[merged] = end
		merged, begin = merged+1, end
	}
	m.ends = m.ends[:merged]
	m.rows, m.buffer = m.buffer, m.rows
}

// mergeRuns merges two runs into out, whose length is the sum of theirs. Of equal rows, those of
// x come first.
func mergeRuns(out, x, y []row) {
	for len(x) > 0 && len(y) > 0 {
		if y[0].before(&x[0]) {
			out[0], y = y[0], y[1:]
		} else {
			out[0], x = x[0], x[1:]
		}
		out = out[1:]
	}
	copy(out[copy(out, x):], y)
}
