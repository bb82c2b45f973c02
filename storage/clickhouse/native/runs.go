package native

import (
	"iter"
	"slices"
)

// Runs are a column whose values mostly are those before them: the series of rows that
// are sorted by it, the version of the rows of one record. Of equal ones in a row one is
// held, and so a hundredth of the memory of all where a series has a hundred rows.
type Runs struct {
	values []uint64
	ends   []int // of each value's rows
}

// RunsOf returns a column of these values.
func RunsOf(values ...uint64) (r Runs) {
	for _, v := range values {
		r.Append(v, 1)
	}
	return r
}

// Len returns the number of rows.
func (r *Runs) Len() int {
	if len(r.ends) == 0 {
		return 0
	}
	return r.ends[len(r.ends)-1]
}

// Append adds so many rows with a value.
func (r *Runs) Append(value uint64, rows int) {
	if rows == 0 {
		return
	}
	end := r.Len() + rows
	if last := len(r.values) - 1; last >= 0 && r.values[last] == value {
		r.ends[last] = end
		return
	}
	r.values, r.ends = append(r.values, value), append(r.ends, end)
}

// Truncate forgets the rows from one on.
func (r *Runs) Truncate(rows int) {
	run, _ := slices.BinarySearch(r.ends, rows)
	if run < len(r.ends) && rows > 0 && (run == 0 || r.ends[run-1] < rows) {
		r.ends[run] = rows
		run++
	}
	r.values, r.ends = r.values[:run], r.ends[:run]
}

// All returns each value with the number of rows that have it, in their order.
func (r *Runs) All() iter.Seq2[uint64, int] { return r.From(0) }

// From does the same for the rows from one on.
func (r *Runs) From(row int) iter.Seq2[uint64, int] {
	return func(yield func(uint64, int) bool) {
		run, found := slices.BinarySearch(r.ends, row)
		if found {
			run++ // the run that ends there has no row from there on
		}
		for ; run < len(r.ends); run++ {
			if !yield(r.values[run], r.ends[run]-row) {
				return
			}
			row = r.ends[run]
		}
	}
}

// AppendTo appends the values of the rows from one on, one for each.
func (r *Runs) AppendTo(values []uint64, row int) []uint64 {
	values = slices.Grow(values, r.Len()-row)
	for v, n := range r.From(row) {
		for range n {
			values = append(values, v)
		}
	}
	return values
}

// Last returns the value of the last row, of which there must be one.
func (r *Runs) Last() uint64 { return r.values[len(r.values)-1] }
