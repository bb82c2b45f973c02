package points

import (
	"cmp"
	"slices"
)

// spanKey is the series of a span and the index of the span in its batch.
type spanKey struct {
	series uint64
	span   int32
}

// minRadix is the number of keys from which sorting digit by digit is faster than comparing.
const minRadix = 512

// sortKeys sorts keys by series. Keys of one series keep their order. It returns the sorted
// keys and the memory that is free for the next call: the two arguments in either order.
func sortKeys(keys, spare []spanKey) (sorted, free []spanKey) {
	compare := func(x, y spanKey) int { return cmp.Compare(x.series, y.series) }
	if slices.IsSortedFunc(keys, compare) {
		return keys, spare
	}
	if len(keys) < minRadix {
		slices.SortStableFunc(keys, compare)
		return keys, spare
	}
	spare = slices.Grow(spare[:0], len(keys))[:len(keys)]
	var counts [8][256]int32
	for i := range keys {
		for digit, series := 0, keys[i].series; digit < len(counts); digit, series = digit+1, series>>8 {
			counts[digit][byte(series)]++
		}
	}
	for digit := range counts {
		count, shift := &counts[digit], 8*digit
		if int(count[byte(keys[0].series>>shift)]) == len(keys) {
			continue // all keys have this digit
		}
		next := int32(0)
		for i, n := range count {
			count[i], next = next, next+n
		}
		for _, k := range keys {
			at := &count[byte(k.series>>shift)]
			spare[*at] = k
			*at++
		}
		keys, spare = spare, keys
	}
	return keys, spare
}

// appendSeries appends the different series of sorted keys to ids.
func appendSeries(ids []uint64, keys []spanKey) []uint64 {
	for i := range keys {
		if i == 0 || keys[i].series != keys[i-1].series {
			ids = append(ids, keys[i].series)
		}
	}
	return ids
}
