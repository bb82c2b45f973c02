package block

import "github.com/livegraph/livegraph/schemas/pointblock"

// final is a series of the request, under whichever labels.
type final struct {
	Ref        pointblock.SeriesRef
	Kind       pointblock.Kind
	Label      int32 // one of its labels
	Registered bool
	Count      int   // points
	First      int   // index of the first row or series with one
	runs       int   // in how many runs they came, where they came as columns
	last       int32 // the last of these, plus one
}

// output is what a batch becomes: series, and records of their points.
type output struct {
	Finals []final
	slots  []int32 // a hash table of finals, plus one

	// The series that is being looked at.
	identity  pointblock.Identity
	canonical []byte
	Tags      []pointblock.Tag

	numbers sorted[float64]
	strings sorted[string]
	route   []int32 // from a label to its series, -1: none
	cursor  []int   // where a series' next point goes

	encoders []*pointblock.Encoder // by partition
	active   []int32               // the partitions that have points
	bytes    int
	Messages []pointblock.Message
}

func (o *output) reset() {
	o.identity = pointblock.Identity{}
	clear(o.slots)
	clear(o.Tags)
	clear(o.strings.values)
	clear(o.Messages)
	o.Finals, o.Tags, o.Messages = o.Finals[:0], o.Tags[:0], o.Messages[:0]
	o.active, o.bytes = o.active[:0], 0
}

// DropMessages lets go of the messages and of the memory that they are in, for a producer
// that may still read them.
func (b *Batch) DropMessages() {
	b.Output.encoders, b.Output.Messages = nil, nil
}

func (o *output) size() int {
	return cap(o.Finals)*72 + cap(o.slots)*4 + cap(o.numbers.ts)*16 + cap(o.strings.ts)*24 + 2*o.bytes
}

// Identify finds the series that the labels name.
func (b *Batch) Identify(key *[16]byte) {
	o := &b.Output
	labels := b.Labels.List
	if want := 4 * len(labels); len(o.slots) < want {
		size := 1
		for size < want {
			size *= 2
		}
		o.slots = make([]int32, size)
	}
	for i := range labels {
		l := &labels[i]
		for k := range l.Count {
			l.final[k] = -1
			if l.Count[k] == 0 {
				continue
			}
			kind := pointblock.Kind(k + 1)
			var at int32
			if b.stillKnown(l) {
				at = o.intern(l.Known.Ref.Fingerprint)
				o.Finals[at].Ref.ID, o.Finals[at].Registered = l.Known.Ref.ID, true
			} else {
				o.identity = b.Identity(l, kind, &o.Tags)
				o.canonical = o.identity.AppendCanonical(o.canonical[:0])
				at = o.intern(pointblock.FingerprintOf(key, o.canonical))
			}
			f := &o.Finals[at]
			if f.Count == 0 {
				f.Kind, f.Label, f.First = kind, int32(i), l.First[k]
			}
			f.Count += l.Count[k]
			f.First = min(f.First, l.First[k])
			l.final[k] = at
		}
	}
}

// intern returns the index of the series with this fingerprint.
func (o *output) intern(fingerprint pointblock.Fingerprint) int32 {
	mask := uint64(len(o.slots) - 1)
	slot := fingerprint.SeriesID() & mask
	for ; o.slots[slot] != 0; slot = (slot + 1) & mask {
		if o.Finals[o.slots[slot]-1].Ref.Fingerprint == fingerprint {
			return o.slots[slot] - 1
		}
	}
	o.Finals = append(o.Finals, final{Ref: pointblock.SeriesRef{Fingerprint: fingerprint}})
	o.slots[slot] = int32(len(o.Finals))
	return o.slots[slot] - 1
}
