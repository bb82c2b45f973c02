package ingest

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// entryFault is a rule that one entry of a run breaks.
type entryFault struct {
	position int32
	why      reason
}

// stringEntry is a string among a run's values.
type stringEntry struct {
	position int32
	text     string
}

// notes is what a parser found in the entries of the run that it reads, while these
// are in the columns of numbers.
type notes struct {
	faults  []entryFault
	strings []stringEntry
	absent  []int32 // positions of the request's entries that are not in the columns, ascending
	// unindexed says that positions in the columns are not those of the request's entries.
	unindexed bool
}

func (n *notes) reset() {
	n.faults, n.strings, n.absent = n.faults[:0], n.strings[:0], n.absent[:0]
}

// release also lets go of the request's body.
func (n *notes) release() {
	clear(n.strings)
	n.reset()
}

// addRun makes runs of one label out of the columns from an index on. index is that of
// the row or series in the request.
func (b *batch) addRun(n *notes, index, from int, at int32) {
	l := &b.labels.list[at]
	stringsFrom := len(b.strings.ts)
	switch {
	case l.refused != accepted:
		b.reject(l.refused, index, whole, len(b.numbers.ts)-from, l)
		b.numbers.ts, b.numbers.values = b.numbers.ts[:from], b.numbers.values[:from]
	case len(n.faults) > 0 || len(n.strings) > 0:
		b.sift(n, index, from, l)
	}
	sifted := n.unindexed || len(n.faults)+len(n.strings) > 0
	b.appendRun(run{
		label: at, kind: pointblock.KindNumber, from: from, to: len(b.numbers.ts), index: index, sifted: sifted,
	})
	b.appendRun(run{
		label: at, kind: pointblock.KindString, from: stringsFrom, to: len(b.strings.ts), index: index, sifted: sifted,
	})
}

func (b *batch) appendRun(r run) {
	if r.from == r.to {
		return
	}
	l := &b.labels.list[r.label]
	if l.count[r.kind-1] == 0 {
		l.first[r.kind-1] = r.index
	}
	l.count[r.kind-1] += r.to - r.from
	b.runs = append(b.runs, r)
}

// sift removes what is rejected from the columns of numbers, and moves strings to
// their own.
func (b *batch) sift(n *notes, index, from int, l *label) {
	slices.SortStableFunc(n.faults, func(a, b entryFault) int { return cmp.Compare(a.position, b.position) })
	faults, texts, absent := n.faults, n.strings, n.absent
	ts, values := b.numbers.ts[from:], b.numbers.values[from:]
	kept, passed := 0, 0
	for i := range ts {
		for len(absent) > 0 && int(absent[0]) <= i+passed {
			absent = absent[1:]
			passed++
		}
		isString := len(texts) > 0 && texts[0].position == int32(i)
		if isString {
			texts = texts[1:]
		}
		switch {
		case len(faults) > 0 && faults[0].position == int32(i):
			b.reject(faults[0].why, index, i+passed, 1, l)
			for len(faults) > 0 && faults[0].position == int32(i) {
				faults = faults[1:]
			}
		case isString:
			b.strings.ts = append(b.strings.ts, ts[i])
			b.strings.values = append(b.strings.values, n.strings[len(n.strings)-len(texts)-1].text)
		default:
			ts[kept], values[kept] = ts[i], values[i]
			kept++
		}
	}
	b.numbers.ts, b.numbers.values = b.numbers.ts[:from+kept], b.numbers.values[:from+kept]
}
