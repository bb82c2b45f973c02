package block

import "math/bits"

// table is a hash table of indexes of a list. A slot contains a part of an item's hash, so a search
// seldom reads other items, which would be random accesses to memory. The table is as small as
// possible for the same reason.
type table struct {
	slots []uint32 // see slot; 0: empty; at most half are used; the length is a power of two
	used  []uint32 // the slots that are not empty
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
	t.used = append(t.used, uint32(at))
}

// reserve makes room for one more item. hashOf returns the hashes of those that the table contains.
func (t *table) reserve(hashOf func(i int32) uint64) {
	size := max(minSlots, len(t.slots))
	for size < 2*(len(t.used)+1) {
		size *= 2
	}
	if size == len(t.slots) {
		return
	}
	slots, used, mask := t.slots, t.used, uint32(1)<<t.bits-1
	t.slots, t.used, t.bits = make([]uint32, size), make([]uint32, 0, size/2), bits.Len(uint(size))
	for _, at := range used {
		i := int32(slots[at]&mask) - 1
		t.insert(hashOf(i), i)
	}
}

// reset removes all items. After one large request, requests with few items do not clear all slots.
func (t *table) reset() {
	const sparse = 32
	if len(t.slots) < sparse*len(t.used) {
		clear(t.slots)
	} else {
		for _, at := range t.used {
			t.slots[at] = 0
		}
	}
	t.used = t.used[:0]
}

// size returns the memory of the table in bytes.
func (t *table) size() int { return cap(t.slots)*4 + cap(t.used)*4 }
