package pointblock

import (
	"cmp"
	"slices"
)

// increasing reports whether each time is above the one before.
func increasing(ts []int64) bool {
	for i := 1; i < len(ts); i++ {
		if ts[i] <= ts[i-1] {
			return false
		}
	}
	return true
}

// moment is a time and where in its column it stands.
type moment struct {
	ts int64
	at int32
}

// sortColumns puts both columns in the order of time, keeps of several values of
// one time the last, and gives how many are left.
func sortColumns[V any](scratch *[]moment, copies *[]V, ts []int64, values []V) int {
	order := (*scratch)[:0]
	for i, t := range ts {
		order = append(order, moment{ts: t, at: int32(i)})
	}
	slices.SortFunc(order, func(a, b moment) int {
		if c := cmp.Compare(a.ts, b.ts); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
	*scratch = order
	*copies = append((*copies)[:0], values...)
	n := 0
	for i, m := range order {
		if i+1 < len(order) && order[i+1].ts == m.ts {
			continue
		}
		ts[n], values[n] = m.ts, (*copies)[m.at]
		n++
	}
	return n
}
