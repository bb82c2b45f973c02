package block

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// SortTags sorts tags by key. If a key occurs more than once, it returns the key and false.
func SortTags(tags []pointblock.Tag) (duplicate string, ok bool) {
	if len(tags) > 1 {
		slices.SortFunc(tags, func(a, b pointblock.Tag) int { return cmp.Compare(a.Key, b.Key) })
	}
	for i := 1; i < len(tags); i++ {
		if tags[i].Key == tags[i-1].Key {
			return tags[i].Key, false
		}
	}
	return "", true
}

// appendMerged appends the tags of a series and the default tags whose keys the series does not have. own and
// defaults must be sorted; the result is sorted.
func appendMerged(dst, own, defaults []pointblock.Tag) []pointblock.Tag {
	for len(own) > 0 && len(defaults) > 0 {
		switch c := cmp.Compare(own[0].Key, defaults[0].Key); {
		case c > 0:
			dst, defaults = append(dst, defaults[0]), defaults[1:]
			continue
		case c == 0:
			defaults = defaults[1:]
		}
		dst, own = append(dst, own[0]), own[1:]
	}
	return append(append(dst, own...), defaults...)
}

// CountMerged returns the number of tags that appendMerged would append.
func CountMerged(own, defaults []pointblock.Tag) int {
	n := len(own) + len(defaults)
	for len(own) > 0 && len(defaults) > 0 {
		switch c := cmp.Compare(own[0].Key, defaults[0].Key); {
		case c == 0:
			n--
			own, defaults = own[1:], defaults[1:]
		case c < 0:
			own = own[1:]
		default:
			defaults = defaults[1:]
		}
	}
	return n
}
