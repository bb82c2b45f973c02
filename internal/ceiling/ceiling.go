// Package ceiling computes up to which version the points of a time are deleted, given many
// overlapping deletions of a time range up to a version.
package ceiling

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sort"
)

// Interval is a time range in which points up to a version are deleted.
type Interval struct {
	From, To int64 // microseconds since the Unix epoch, To is exclusive; see Always and Forever
	Ceiling  uint64
}

// Bounds of an unbounded interval.
const (
	Always  = math.MinInt64
	Forever = math.MaxInt64
)

// Steps is the step function of the highest ceiling at each time, as a list of steps in the order
// of time. A ceiling of 0 means that nothing is deleted; this also applies before the first step.
type Steps []Step

// Step is the highest ceiling from a time up to the next step.
type Step struct {
	From    int64
	Ceiling uint64
}

// New computes the highest ceiling of intervals at each time.
func New(list []Interval) Steps {
	list = slices.DeleteFunc(slices.Clone(list), func(i Interval) bool { return i.From >= i.To })
	slices.SortFunc(list, func(x, y Interval) int { return cmp.Compare(x.From, y.From) })
	var c Steps
	var open highest // intervals that have begun and may not have ended
	for next := 0; next < len(list) || len(open) > 0; {
		from := int64(Forever)
		if next < len(list) {
			from = list[next].From
		}
		for len(open) > 0 && open[0].To <= from { // that with the highest ceiling ends; others may have ended, too
			end := open[0].To
			for len(open) > 0 && open[0].To <= end {
				heap.Pop(&open)
			}
			c = c.step(end, open.ceiling())
		}
		if next == len(list) {
			break // the open intervals have no end
		}
		for ; next < len(list) && list[next].From == from; next++ {
			heap.Push(&open, list[next])
		}
		c = c.step(from, open.ceiling())
	}
	return c
}

// step appends a step, unless the ceiling does not change.
func (c Steps) step(from int64, ceiling uint64) Steps {
	if from == Forever {
		return c
	}
	if n := len(c); n > 0 && c[n-1].From == from {
		c = c[:n-1]
	}
	if n := len(c); n > 0 && c[n-1].Ceiling == ceiling || n == 0 && ceiling == 0 {
		return c
	}
	return append(c, Step{from, ceiling})
}

// after returns the index of the first step after a time.
func (c Steps) after(ts int64) int {
	return sort.Search(len(c), func(i int) bool { return c[i].From > ts })
}

// At returns the ceiling of a time.
func (c Steps) At(ts int64) uint64 {
	if i := c.after(ts); i > 0 {
		return c[i-1].Ceiling
	}
	return 0
}

// Cover reports whether all or some of the times from first to last, both inclusive, are deleted at
// a version.
func (c Steps) Cover(first, last int64, version uint64) (all, some bool) {
	all = true
	i := c.after(first)
	if i == 0 {
		all = false
	} else {
		i--
	}
	for ; i < len(c) && c[i].From <= last; i++ {
		covered := c[i].Ceiling >= version
		all, some = all && covered, some || covered
	}
	return all && some, some
}

// highest is a heap of intervals. The first one has the highest ceiling.
type highest []Interval

func (h highest) Len() int           { return len(h) }
func (h highest) Less(i, j int) bool { return h[i].Ceiling > h[j].Ceiling }
func (h highest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds an interval.
func (h *highest) Push(x any) { *h = append(*h, x.(Interval)) }

// Pop removes the last interval.
func (h *highest) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func (h highest) ceiling() uint64 {
	if len(h) == 0 {
		return 0
	}
	return h[0].Ceiling
}
