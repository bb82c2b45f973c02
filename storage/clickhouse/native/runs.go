package native

import (
	"iter"
	"slices"
)

// Runs is a run-length encoded column, for values that mostly equal the previous one, such as
// the series of rows that are sorted by series, or the version of the rows of one record. If
// a series has a hundred rows, it takes a hundredth of the memory of a plain column.
type Runs struct {
	values []uint64
	ends   []int // end index of the rows of each value
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

// Append adds a number of rows with one value.
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

// Truncate reduces the column to its first rows.
func (r *Runs) Truncate(rows int) {
	run, _ := slices.BinarySearch(r.ends, rows)
	if run < len(r.ends) && rows > 0 && (run == 0 || r.ends[run-1] < rows) {
		r.ends[run] = rows
		run++
	}
	r.values, r.ends = r.values[:run], r.ends[:run]
}

// All returns the runs in order: each value with its number of rows.
func (r *Runs) All() iter.Seq2[uint64, int] { return r.From(0) }

// From returns the runs from a row on.
func (r *Runs) From(row int) iter.Seq2[uint64, int] {
	return func(yield func(uint64, int) bool) {
		run, found := slices.BinarySearch(r.ends, row)
		if found {
			run++ // the run that ends at row does not contain it
		}
		for ; run < len(r.ends); run++ {
			if !yield(r.values[run], r.ends[run]-row) {
				return
			}
			row = r.ends[run]
		}
	}
}

// AppendTo appends one value for each row, from a row on.
func (r *Runs) AppendTo(values []uint64, row int) []uint64 {
	values = slices.Grow(values, r.Len()-row)
	for v, n := range r.From(row) {
		for range n {
			values = append(values, v)
		}
	}
	return values
}

// Last returns the value of the last row. The column must not be empty.
func (r *Runs) Last() uint64 { return r.values[len(r.values)-1] }
