package timeseries

import "cmp"

// rowOrder sorts rows of a statement by series, time and rank. The rows may come in any order.
type rowOrder struct {
	series []uint64
	times  []int64
	ranks  []uint64
	starts []int32 // start of each run of rows in ascending order
}

// findRuns finds the starts of runs among the rows from an index on.
func (o *rowOrder) findRuns(from int) {
	for row := from; row < len(o.series); row++ {
		if row == 0 || o.compare(int32(row-1), int32(row)) > 0 {
			o.starts = append(o.starts, int32(row))
		}
	}
}

// compare compares two rows by series, time and rank.
func (o *rowOrder) compare(x, y int32) int {
	if c := o.comparePlace(x, y); c != 0 {
		return c
	}
	return cmp.Compare(o.ranks[x], o.ranks[y])
}

// comparePlace compares two rows by series and time.
func (o *rowOrder) comparePlace(x, y int32) int {
	if c := cmp.Compare(o.series[x], o.series[y]); c != 0 {
		return c
	}
	return cmp.Compare(o.times[x], o.times[y])
}

// sorted returns the rows in ascending order: it merges the runs in which they came. Each part of the
// table comes in its order, so there are few.
func (o *rowOrder) sorted() []int32 {
	count := int32(len(o.series))
	order, merged := make([]int32, count), make([]int32, count)
	for i := range order {
		order[i] = int32(i)
	}
	at := func(starts []int32, run int) int32 {
		if run < len(starts) {
			return starts[run]
		}
		return count
	}
	for starts := o.starts; len(starts) > 1; {
		fewer := starts[:0]
		for run := 0; run < len(starts); run += 2 {
			from, middle, to := starts[run], at(starts, run+1), at(starts, run+2)
			o.merge(merged[from:to], order[from:middle], order[middle:to])
			fewer = append(fewer, from)
		}
		starts = fewer
		order, merged = merged, order
	}
	return order
}

// merge merges two lists of rows in ascending order into dst.
func (o *rowOrder) merge(dst, x, y []int32) {
	for i := range dst {
		if len(y) == 0 || len(x) > 0 && o.compare(x[0], y[0]) <= 0 {
			dst[i], x = x[0], x[1:]
		} else {
			dst[i], y = y[0], y[1:]
		}
	}
}
