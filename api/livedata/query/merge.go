package query

import "github.com/livegraph/livegraph/storage/clickhouse/timeseries"

// merge iterates over the points of several groups by time, and at the same time by group.
type merge struct {
	points     []*timeseries.Points
	nextRow    []int // by group: the next row
	descending bool
	heap       []int // groups with remaining rows, a heap by their next row
	group, row int   // the current row
}

func newMerge(points []*timeseries.Points, descending bool) *merge {
	m := &merge{
		points: points, nextRow: make([]int, len(points)), descending: descending, heap: make([]int, 0, len(points)),
	}
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

// next advances to the next row and reports whether there is one.
func (m *merge) next() bool {
	if len(m.heap) == 0 {
		return false
	}
	g := m.heap[0]
	m.group, m.row = g, m.nextRow[g]
	if m.nextRow[g]++; m.nextRow[g] == len(m.points[g].TS) {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.sink(0)
	return true
}

// sink restores the heap order below index i.
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

// before reports whether the next row of group a comes before that of group b.
func (m *merge) before(a, b int) bool {
	one, other := m.points[a].TS[m.nextRow[a]], m.points[b].TS[m.nextRow[b]]
	if one == other {
		return a < b
	}
	return (one < other) != m.descending
}
