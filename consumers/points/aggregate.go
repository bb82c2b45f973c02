package points

import "slices"

// aggregate has the columns of a rollup for consecutive points of a series. The zero value is that of
// no points. See minuteRows in storage/clickhouse for the meaning of increase and spread.
type aggregate struct {
	points                              uint32
	firstUS, lastUS                     int64
	total, lowest, highest, first, last float64
	increase, spread                    float64
}

// aggregateOf returns the aggregate of points in the order of time. There is at least one.
func aggregateOf(ts []int64, values []float64) aggregate {
	n := len(values)
	a := aggregate{
		points: uint32(n), firstUS: ts[0], lastUS: ts[n-1], lowest: slices.Min(values), highest: slices.Max(values),
		first: values[0], last: values[n-1], total: values[0],
	}
	for i := 1; i < n; i++ {
		a.total += values[i]
		a.increase += step(values[i-1], values[i])
	}
	mean := a.total / float64(n)
	for _, v := range values {
		a.spread += (v - mean) * (v - mean)
	}
	return a
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
// restart.
func step(from, to float64) float64 {
	if to >= from {
		return to - from
	}
	return to
}
