package block

import "github.com/livegraph/livegraph/schemas/pointblock"

// requestSeries is a series of the request. One or more labels name it.
type requestSeries struct {
	Ref        pointblock.SeriesRef
	Label      int32 // index of one of its labels
	Count      int32 // number of points
	First      int32 // index of the first row or series that has a point
	runs       int32 // number of runs, if the points came as columns
	last       int32 // index of the last run, plus one
	Kind       pointblock.Kind
	Registered bool
}

// output is the result of a batch: its series, and the records of their points.
type output struct {
	Series []requestSeries
	table  table // of Series

	// Buffers for the series that is being processed.
	identity  pointblock.Identity
	canonical []byte
	Tags      []pointblock.Tag

	numbers       sorted[float64]
	strings       sorted[string]
	seriesOfLabel []int32 // by label, the index of its series; -1: none
	cursor        []int   // by series, the index of its next point

	encoders []*pointblock.Encoder // by partition
	active   []int32               // the partitions that have points
	bytes    int
	Messages []pointblock.Message

	Histograms int // number of encoded points that are native histograms
}

func (o *output) reset() {
	o.identity = pointblock.Identity{}
	o.table.reset()
	clear(o.Tags)
	clear(o.strings.values)
	clear(o.Messages)
	o.Series, o.Tags, o.Messages = o.Series[:0], o.Tags[:0], o.Messages[:0]
	o.active, o.bytes, o.Histograms = o.active[:0], 0, 0
}

// DropMessages removes the messages and their memory from the batch, because the producer may still
// read them.
func (b *Batch) DropMessages() {
	b.Output.encoders, b.Output.Messages = nil, nil
}

func (o *output) size() int {
	size := cap(o.Series)*48 + o.table.size() + cap(o.numbers.ts)*16 + cap(o.strings.ts)*24
	for _, e := range o.encoders {
		if e != nil {
			size += e.Size()
		}
	}
	return size
}

// Identify computes the series that the labels name.
func (b *Batch) Identify(key *[16]byte) {
	o := &b.Output
	labels := b.Labels.List
	for i := range labels {
		l := &labels[i]
		for k := range l.Count {
			index := l.seriesIndex[k]
			if l.seriesIndex[k] = -1; l.Count[k] == 0 {
				continue
			}
			kind := pointblock.Kind(k + 1)
			if b.isKnown(l, kind) {
				if !l.interned {
					index = o.internKnown(l.known.ref())
				}
			} else {
				o.identity = b.Identity(l, kind, &o.Tags)
				o.canonical = o.identity.AppendCanonical(o.canonical[:0])
				index = o.intern(pointblock.FingerprintOf(key, o.canonical))
			}
			f := &o.Series[index]
			if f.Count == 0 {
				f.Kind, f.Label, f.First = kind, int32(i), l.First[k]
			}
			f.Count += l.Count[k]
			f.First = min(f.First, l.First[k])
			l.seriesIndex[k] = index
		}
	}
	if b.Exemplars.Len() > 0 {
		b.identifyExemplars(key)
	}
}

// intern returns the index of the series with the fingerprint, which it adds if it is new.
func (o *output) intern(fingerprint pointblock.Fingerprint) int32 {
	hash := fingerprint.SeriesID()
	i := o.table.find(hash, func(i int32) bool { return o.Series[i].Ref.Fingerprint == fingerprint })
	if i < 0 {
		i = int32(len(o.Series))
		o.table.reserve(o.hashOf)
		o.Series = append(o.Series, requestSeries{Ref: pointblock.SeriesRef{Fingerprint: fingerprint}})
		o.table.insert(hash, i)
	}
	return i
}

// internKnown returns the index of a series that is registered, which it adds if it is new.
func (o *output) internKnown(ref pointblock.SeriesRef) int32 {
	index := o.intern(ref.Fingerprint)
	o.Series[index].Ref.ID, o.Series[index].Registered = ref.ID, true
	return index
}

func (o *output) hashOf(i int32) uint64 { return o.Series[i].Ref.Fingerprint.SeriesID() }
