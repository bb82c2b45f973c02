package query

import "github.com/livegraph/livegraph/storage/clickhouse/timeseries"

// merge walks through the points of several groups in the order of time; of one time in
// the order of the groups.
type merge struct {
	points     []*timeseries.Points
	at         []int // by group: the next row
	descending bool
	heap       []int // groups that have rows left, the one whose row is next at the top
	group, row int   // where the walk is
}

func newMerge(points []*timeseries.Points, descending bool) *merge {
	m := &merge{points: points, at: make([]int, len(points)), descending: descending, heap: make([]int, 0, len(points))}
	for g, p := range points {
		if p != nil && len(p.TS) > 0 {
			m.heap = append(m.heap, g)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m
}

// next goes to the next row and reports whether there is one.
func (m *merge) next() bool {
	if len(m.heap) == 0 {
		return false
	}
	g := m.heap[0]
	m.group, m.row = g, m.at[g]
	if m.at[g]++; m.at[g] == len(m.points[g].TS) {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.sink(0)
	return true
}

// sink puts the group at a place of the heap below those that come before it.
func (m *merge) sink(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.before(m.heap[child], m.heap[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		m.heap[i], m.heap[first] = m.heap[first], m.heap[i]
		i = first
	}
}

// before reports whether a group's next row comes before another's.
func (m *merge) before(a, b int) bool {
	one, other := m.points[a].TS[m.at[a]], m.points[b].TS[m.at[b]]
	if one == other {
		return a < b
	}
	return (one < other) != m.descending
}
