package points

import "slices"

// row is a point of a series, without its value.
type row struct {
	ts      int64
	version uint64
	at      int32 // where the value is
}

// before reports whether x comes before y: in the order of time, and of those with one time the
// one with the highest version first.
func (x *row) before(y *row) bool {
	return x.ts < y.ts || (x.ts == y.ts && x.version > y.version)
}

// merger brings rows of a series into order. What producers send is in order by itself, and out
// of it only against what others sent or what was sent twice: runs that are merged, which takes
// a step a row for two of them, where a sort that knows of no runs takes as many as the
// logarithm of all. It keeps its memory for the next series.
type merger struct {
	rows, spare []row
	ends        []int // of the runs
}

// order returns the rows in the order of time; of several with one time only that with the
// highest version. They hold until the next call.
func (m *merger) order(ts []int64, versions []uint64) []row {
	m.rows, m.ends = slices.Grow(m.rows[:0], len(ts)), m.ends[:0]
	for i := range ts {
		next := row{ts: ts[i], version: versions[i], at: int32(i)}
		if i > 0 && next.before(&m.rows[i-1]) {
			m.ends = append(m.ends, i)
		}
		m.rows = append(m.rows, next)
	}
	m.ends = append(m.ends, len(ts))
	m.spare = slices.Grow(m.spare[:0], len(ts))[:len(ts)]
	for len(m.ends) > 1 {
		m.merge()
	}
	m.rows = slices.CompactFunc(m.rows, func(x, y row) bool { return x.ts == y.ts })
	return m.rows
}

// merge creates one run of each two neighbours.
func (m *merger) merge() {
	kept, begin := 0, 0
	for i := 0; i < len(m.ends); i += 2 {
		middle := m.ends[i]
		end := middle
		if i+1 < len(m.ends) {
			end = m.ends[i+1]
		}
		mergeRuns(m.spare[begin:end], m.rows[begin:middle], m.rows[middle:end])
		m.ends[kept] = end
		kept, begin = kept+1, end
	}
	m.ends = m.ends[:kept]
	m.rows, m.spare = m.spare, m.rows
}

// mergeRuns puts the rows of both runs into out, which has room for just them. Of equal ones
// those of x come first.
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
