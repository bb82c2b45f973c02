package block

import "math/bits"

// table is a hash table of indexes of a list. A slot contains a part of an item's hash, so a search
// seldom reads other items, which would be random accesses to memory. The table is as small as
// possible for the same reason.
type table struct {
	slots []uint32 // see slot; 0: empty; at most half are used; the length is a power of two
	bits  int      // of an index in a slot
}

// minSlots is the initial number of slots.
const minSlots = 64

// slot returns the content of the slot of an item: the upper bits of its hash, and its index plus one.
func (t *table) slot(hash uint64, i int32) uint32 {
	return uint32(hash>>32)>>t.bits<<t.bits | uint32(i+1)
}

// find returns the index of the item with this hash that equal accepts, or -1.
func (t *table) find(hash uint64, equal func(i int32) bool) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	mask, tag := uint64(len(t.slots)-1), uint32(hash>>32)>>t.bits
	for at := hash & mask; t.slots[at] != 0; at = (at + 1) & mask {
		if s := t.slots[at]; s>>t.bits == tag {
			if i := int32(s&(1<<t.bits-1)) - 1; equal(i) {
				return i
			}
		}
	}
	return -1
}

// insert adds an index. The table must have room for it, see reserve.
func (t *table) insert(hash uint64, i int32) {
	mask := uint64(len(t.slots) - 1)
	at := hash & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = t.slot(hash, i)
}

// reserve makes room for more items. The table contains the indexes below used; hashOf returns their
// hashes.
func (t *table) reserve(used, more int, hashOf func(i int32) uint64) {
	size := max(minSlots, len(t.slots))
	for size < 2*(used+more) {
		size *= 2
	}
	if size == len(t.slots) {
		return
	}
	t.slots, t.bits = make([]uint32, size), bits.Len(uint(size))
	for i := range int32(used) {
		t.insert(hashOf(i), i)
	}
}

// reset removes all items. The table contains the indexes below used. After one large request,
// requests with few items must not clear all slots.
func (t *table) reset(used int, hashOf func(i int32) uint64) {
	const sparse = 32
	if len(t.slots) < sparse*max(used, minSlots) {
		clear(t.slots)
		return
	}
	mask := uint64(len(t.slots) - 1)
	for i := range int32(used) {
		hash := hashOf(i)
		at := hash & mask
		for t.slots[at] != t.slot(hash, i) {
			at = (at + 1) & mask
		}
		t.slots[at] = 0
	}
}
