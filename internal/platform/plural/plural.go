// Package plural puts into words what people read and programs do not: so far, how many
// there are of something.
package plural

import "strconv"

// Whole is what things are counted in.
type Whole interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64
}

// Count reports how many there are of what has a plural in s: "1 point", "2 points".
func Count[N Whole](n N, one string) string { return CountOf(n, one, one+"s") }

// CountOf reports how many there are of what has another plural: "1 series", "2 series".
func CountOf[N Whole](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	if n < 0 {
		return strconv.FormatInt(int64(n), 10) + " " + many
	}
	return strconv.FormatUint(uint64(n), 10) + " " + many
}
