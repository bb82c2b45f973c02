package block

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/exemplar"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// MaxExemplars is the maximum number of exemplars of a request. A label of an exemplar can be referred to many times,
// so that they can be larger than the body.
const MaxExemplars = 100_000

// exemplarBytes is the estimated memory of an exemplar without its text.
const exemplarBytes = 48

// Exemplars are the exemplars of a request. They are not points: they never reject one, and those that break a rule
// are dropped and counted, as by Prometheus.
type Exemplars struct {
	Dropped int
	bytes   int // size of the texts
	list    []requestExemplar
	labels  []exemplar.Label // scratch
	times   []int64          // of one series, as the next
	texts   []string
}

// requestExemplar is an exemplar of a label, and later of its series.
type requestExemplar struct {
	label, series int32
	us            int64  // microseconds since the Unix epoch
	text          string // see package exemplar
}

// Len returns the number of exemplars that are not dropped.
func (e *Exemplars) Len() int { return len(e.list) }

// Full reports whether there are as many exemplars as a request can have.
func (e *Exemplars) Full() bool { return len(e.list)+e.Dropped >= MaxExemplars }

// Labels returns an empty list of labels, for Batch.AddExemplar. Its memory is used again for each exemplar.
func (e *Exemplars) Labels() []exemplar.Label { return e.labels[:0] }

func (e *Exemplars) reset() {
	clear(e.list)
	clear(e.labels[:cap(e.labels)])
	clear(e.texts[:cap(e.texts)])
	*e = Exemplars{list: e.list[:0], labels: e.labels[:0], times: e.times[:0], texts: e.texts[:0]}
}

// TooManyExemplars returns the problem of a request with more than MaxExemplars.
func TooManyExemplars() string {
	return fmt.Sprintf("must hold at most %d exemplars in one request", MaxExemplars)
}

// AddExemplar adds an exemplar of a label, at a time in microseconds since the Unix epoch. It is dropped if its time or
// its labels break a rule. AddExemplar sorts the labels.
func (b *Batch) AddExemplar(label int32, us int64, value float64, labels []exemplar.Label) {
	e := &b.Exemplars
	e.labels = labels
	from := len(b.Unescaped)
	text, err := exemplar.Append(b.Unescaped, value, labels)
	if err != nil || b.CheckTime(us) != rejection.None || b.Labels.List[label].Refused != rejection.None {
		e.Dropped++
		return
	}
	b.Unescaped = text
	e.bytes += len(text) - from
	e.list = append(e.list, requestExemplar{label: label, us: us, text: scan.View(text[from:len(text):len(text)])})
}

// dropExemplars drops those for which drop returns true.
func (b *Batch) dropExemplars(drop func(x *requestExemplar) bool) {
	e := &b.Exemplars
	kept := slices.DeleteFunc(e.list, func(x requestExemplar) bool { return drop(&x) })
	e.Dropped += len(e.list) - len(kept)
	e.list = kept
}

// identifyExemplars computes the series of the exemplars: those of special values beside the series of numbers. They
// need not have points.
func (b *Batch) identifyExemplars(key *[16]byte) {
	b.dropExemplars(func(x *requestExemplar) bool { return !b.Sources.List[b.Labels.List[x.label].Source].Known })
	o, last := &b.Output, int32(-1)
	var index int32
	for i := range b.Exemplars.list {
		x := &b.Exemplars.list[i]
		if x.label != last {
			last = x.label
			l := &b.Labels.List[last]
			b.isKnown(l, pointblock.KindSpecial) // reads the label
			o.identity = b.Identity(l, pointblock.KindSpecial, &o.Tags)
			o.canonical = o.identity.AppendCanonical(o.canonical[:0])
			index = o.intern(pointblock.FingerprintOf(key, o.canonical))
			if f := &o.Series[index]; f.Count == 0 {
				f.Kind, f.Label = pointblock.KindSpecial, last
			}
		}
		x.series = index
	}
}

// encodeExemplars encodes the exemplars of registered series into messages and returns their number.
func (b *Batch) encodeExemplars() (count int, err error) {
	e := &b.Exemplars
	if len(e.list) == 0 {
		return 0, nil
	}
	b.dropExemplars(func(x *requestExemplar) bool { return !b.Output.Series[x.series].Registered })
	slices.SortStableFunc(e.list, func(x, y requestExemplar) int {
		return cmp.Or(cmp.Compare(x.series, y.series), cmp.Compare(x.us, y.us))
	})
	for from := 0; from < len(e.list); {
		series, to := e.list[from].series, from
		e.times, e.texts = e.times[:0], e.texts[:0]
		for to < len(e.list) && e.list[to].series == series {
			to = b.joinExemplars(to, &count)
		}
		if err := b.appendExemplars(&b.Output.Series[series]); err != nil {
			return 0, err
		}
		from = to
	}
	return count, nil
}

// joinExemplars appends the text of the exemplars of one series and time, which begin at an index, and adds their
// number to count. It returns the index after them.
func (b *Batch) joinExemplars(from int, count *int) (to int) {
	e := &b.Exemplars
	first, to := &e.list[from], from
	start := len(e.texts)
	for to < len(e.list) && e.list[to].series == first.series && e.list[to].us == first.us {
		e.texts = append(e.texts, e.list[to].text)
		to++
	}
	text, n := exemplar.Join(e.texts[start:])
	e.times, e.texts = append(e.times, first.us), append(e.texts[:start], text)
	e.Dropped += to - from - n
	*count += n
	return to
}

func (b *Batch) appendExemplars(f *requestSeries) error {
	o, l := &b.Output, &b.Labels.List[f.Label]
	o.identity = b.Identity(l, f.Kind, &o.Tags)
	encoder := b.encoder(b.Sources.List[l.Source].Partition)
	before := encoder.Len()
	if err := encoder.AppendExemplars(f.Ref, &o.identity, b.Exemplars.times, b.Exemplars.texts); err != nil {
		return fault.Wrap(err, fault.Internal, "An exemplar could not be encoded")
	}
	return b.addSize(encoder.Len() - before)
}
