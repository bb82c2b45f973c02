package pointblock

import (
	"cmp"
	"slices"
)

// increasing reports whether the times are strictly increasing.
func increasing(ts []int64) bool {
	for i := 1; i < len(ts); i++ {
		if ts[i] <= ts[i-1] {
			return false
		}
	}
	return true
}

// timeIndex is a time and its index in the column.
type timeIndex struct {
	ts    int64
	index int32
}

// sortColumns sorts both columns by time, keeps the last of several values with the same time, and
// returns the number of remaining points.
func sortColumns[V any](scratch *[]timeIndex, valuesScratch *[]V, ts []int64, values []V) int {
	order := (*scratch)[:0]
	for i, t := range ts {
		order = append(order, timeIndex{ts: t, index: int32(i)})
	}
	slices.SortFunc(order, func(a, b timeIndex) int {
		if c := cmp.Compare(a.ts, b.ts); c != 0 {
			return c
		}
		return cmp.Compare(a.index, b.index)
	})
	*scratch = order
	*valuesScratch = append((*valuesScratch)[:0], values...)
	n := 0
	for i, m := range order {
		if i+1 < len(order) && order[i+1].ts == m.ts {
			continue
		}
		ts[n], values[n] = m.ts, (*valuesScratch)[m.index]
		n++
	}
	return n
}
