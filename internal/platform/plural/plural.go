// Package plural formats counts with singular and plural nouns.
package plural

import "strconv"

// Integer is the integer types of counts.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64
}

// Count formats n with a noun whose plural ends in s: "1 point", "2 points".
func Count[N Integer](n N, singular string) string { return CountOf(n, singular, singular+"s") }

// CountOf formats n with a noun that has another plural: "1 series", "2 series".
func CountOf[N Integer](n N, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	if n < 0 {
		return strconv.FormatInt(int64(n), 10) + " " + plural
	}
	return strconv.FormatUint(uint64(n), 10) + " " + plural
}
