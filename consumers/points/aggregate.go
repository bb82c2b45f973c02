package points

import "math"

// aggregate has the columns of a rollup for consecutive points of a series. The zero value is that of
// no points. See minuteRows in storage/clickhouse for the meaning of increase and spread.
type aggregate struct {
	points                              uint32
	firstUS, lastUS                     int64
	total, lowest, highest, first, last float64
	increase, spread                    float64
}

// aggregateOf returns the aggregate of points in the order of time. There is at least one. The spread is
// computed from distances from the first value: the sum of their squares is at most the spread times one
// more than the number of points, so that little of its precision is lost.
func aggregateOf(ts []int64, values []float64) aggregate {
	n, first := len(values), values[0]
	total, lowest, highest, increase := first, first, first, 0.0
	distances, squares := 0.0, 0.0
	previous := first
	for _, v := range values[1:] {
		total += v
		increase += step(previous, v)
		previous = v
		lowest, highest = min(lowest, v), max(highest, v)
		distance := v - first
		distances += distance
		squares += distance * distance
	}
	return aggregate{
		points: uint32(n), firstUS: ts[0], lastUS: ts[n-1], total: total, lowest: lowest, highest: highest,
		first: first, last: previous, increase: increase,
		spread: max(squares-distances*distances/float64(n), 0),
	}
}

// append adds the points of an aggregate that are later than those of a. The spreads are merged as by
// Chan, Golub and LeVeque.
func (a *aggregate) append(b *aggregate) {
	if a.points == 0 {
		*a = *b
		return
	}
	before, added := float64(a.points), float64(b.points)
	distance := b.total/added - a.total/before
	a.increase += step(a.last, b.first) + b.increase
	a.spread += b.spread + distance*distance*(before*added/(before+added))
	a.points += b.points
	a.total += b.total
	a.lowest, a.highest = min(a.lowest, b.lowest), max(a.highest, b.highest)
	a.last, a.lastUS = b.last, b.lastUS
}

// step returns the increase from one value of a counter to the next, which counts in full after a
// restart. Both are finite. It does not branch, because a processor cannot predict whether a measured value falls.
func step(from, to float64) float64 {
	rise := math.Float64bits(to - from)
	fell := uint64(int64(rise) >> 63) // all bits if the rise is negative
	return math.Float64frombits(rise&^fell | math.Float64bits(to)&fell)
}
