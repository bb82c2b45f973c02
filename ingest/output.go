package ingest

import "github.com/livegraph/livegraph/schemas/pointblock"

// final is a series of the request, under whichever labels.
type final struct {
	ref        pointblock.SeriesRef
	kind       pointblock.Kind
	label      int32 // one of its labels
	registered bool
	count      int   // points
	first      int   // index of the first row or series with one
	runs       int   // in how many runs they came, where they came as columns
	last       int32 // the last of these, plus one
}

// output is what a batch becomes: series, and records of their points.
type output struct {
	finals []final
	slots  []int32 // a hash table of finals, plus one

	// The series that is being looked at.
	identity  pointblock.Identity
	canonical []byte
	tags      []pointblock.Tag

	numbers sorted[float64]
	strings sorted[string]
	route   []int32 // from a label to its series, -1: none
	cursor  []int   // where a series' next point goes

	encoders []*pointblock.Encoder // by partition
	active   []int32               // the partitions that have points
	bytes    int
	messages []pointblock.Message
}

func (o *output) reset() {
	o.identity = pointblock.Identity{}
	clear(o.slots)
	clear(o.tags)
	clear(o.strings.values)
	clear(o.messages)
	o.finals, o.tags, o.messages = o.finals[:0], o.tags[:0], o.messages[:0]
	o.active, o.bytes = o.active[:0], 0
}

// dropMessages lets go of the messages and of the memory that they are in, for a producer
// that may still read them.
func (b *batch) dropMessages() {
	b.output.encoders, b.output.messages = nil, nil
}

func (o *output) size() int {
	return cap(o.finals)*72 + cap(o.slots)*4 + cap(o.numbers.ts)*16 + cap(o.strings.ts)*24 + 2*o.bytes
}

// identify finds the series that the labels name.
func (b *batch) identify(key *[16]byte) {
	o := &b.output
	labels := b.labels.list
	if want := 4 * len(labels); len(o.slots) < want {
		size := 1
		for size < want {
			size *= 2
		}
		o.slots = make([]int32, size)
	}
	for i := range labels {
		l := &labels[i]
		for k := range l.count {
			l.final[k] = -1
			if l.count[k] == 0 {
				continue
			}
			kind := pointblock.Kind(k + 1)
			var at int32
			if b.stillKnown(l) {
				at = o.intern(l.known.ref.Fingerprint)
				o.finals[at].ref.ID, o.finals[at].registered = l.known.ref.ID, true
			} else {
				o.identity = b.identity(l, kind, &o.tags)
				o.canonical = o.identity.AppendCanonical(o.canonical[:0])
				at = o.intern(pointblock.FingerprintOf(key, o.canonical))
			}
			f := &o.finals[at]
			if f.count == 0 {
				f.kind, f.label, f.first = kind, int32(i), l.first[k]
			}
			f.count += l.count[k]
			f.first = min(f.first, l.first[k])
			l.final[k] = at
		}
	}
}

// intern returns the index of the series with this fingerprint.
func (o *output) intern(fingerprint pointblock.Fingerprint) int32 {
	mask := uint64(len(o.slots) - 1)
	slot := fingerprint.SeriesID() & mask
	for ; o.slots[slot] != 0; slot = (slot + 1) & mask {
		if o.finals[o.slots[slot]-1].ref.Fingerprint == fingerprint {
			return o.slots[slot] - 1
		}
	}
	o.finals = append(o.finals, final{ref: pointblock.SeriesRef{Fingerprint: fingerprint}})
	o.slots[slot] = int32(len(o.finals))
	return o.slots[slot] - 1
}
