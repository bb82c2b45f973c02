// Package marklist bounds lists of past observations of a partition, such as its end offsets, in order of time.
package marklist

// Max is the maximum number of marks of a partition.
const Max = 128

// Limit removes every second mark of a list that has more than Max, and reports whether it did. It keeps the oldest
// mark, and the relative precision is the same for short and long lists. It changes the list in place.
func Limit[T any](list []T) (limited []T, thinned bool) {
	if len(list) <= Max {
		return list, false
	}
	kept := list[:0]
	for i := 0; i < len(list); i += 2 {
		kept = append(kept, list[i])
	}
	return kept, true
}
