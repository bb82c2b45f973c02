package block

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// EntryFault is a rule that one entry of a run breaks.
type EntryFault struct {
	Position int32
	Why      rejection.Reason
}

// StringEntry is a string among a run's values.
type StringEntry struct {
	Position int32
	Text     string
}

// Notes is what a parser found in the entries of the run that it reads, while these
// are in the columns of numbers.
type Notes struct {
	Faults  []EntryFault
	Strings []StringEntry
	Absent  []int32 // positions of the request's entries that are not in the columns, ascending
	// Unindexed is set if positions in the columns are not those of the request's entries.
	Unindexed bool
}

// Reset prepares for the next run.
func (n *Notes) Reset() {
	n.Faults, n.Strings, n.Absent = n.Faults[:0], n.Strings[:0], n.Absent[:0]
}

// Release also lets go of the request's body.
func (n *Notes) Release() {
	clear(n.Strings)
	n.Reset()
}

// AddRun makes runs of one label out of the columns from an index on. index is that of
// the row or series in the request.
func (b *Batch) AddRun(n *Notes, index, from int, at int32) {
	l := &b.Labels.List[at]
	stringsFrom := len(b.Strings.Times)
	switch {
	case l.Refused != rejection.None:
		b.Reject(l.Refused, index, rejection.Whole, len(b.Numbers.Times)-from, l)
		b.Numbers.Times, b.Numbers.Values = b.Numbers.Times[:from], b.Numbers.Values[:from]
	case len(n.Faults) > 0 || len(n.Strings) > 0:
		b.sift(n, index, from, l)
	}
	sifted := n.Unindexed || len(n.Faults)+len(n.Strings) > 0
	if to := len(b.Numbers.Times); to > from {
		b.appendRun(l, &run{
			label: at, kind: pointblock.KindNumber, from: from, to: to, index: index, sifted: sifted,
		})
	}
	if to := len(b.Strings.Times); to > stringsFrom {
		b.appendRun(l, &run{
			label: at, kind: pointblock.KindString, from: stringsFrom, to: to, index: index, sifted: sifted,
		})
	}
}

func (b *Batch) appendRun(l *Label, r *run) {
	if l.Count[r.kind-1] == 0 {
		l.First[r.kind-1] = r.index
	}
	l.Count[r.kind-1] += r.to - r.from
	b.runs = append(b.runs, *r)
}

// sift removes what is rejected from the columns of numbers, and moves strings to
// their own.
func (b *Batch) sift(n *Notes, index, from int, l *Label) {
	slices.SortStableFunc(n.Faults, func(a, b EntryFault) int { return cmp.Compare(a.Position, b.Position) })
	faults, texts, absent := n.Faults, n.Strings, n.Absent
	ts, values := b.Numbers.Times[from:], b.Numbers.Values[from:]
	kept, passed := 0, 0
	for i := range ts {
		for len(absent) > 0 && int(absent[0]) <= i+passed {
			absent = absent[1:]
			passed++
		}
		isString := len(texts) > 0 && texts[0].Position == int32(i)
		if isString {
			texts = texts[1:]
		}
		switch {
		case len(faults) > 0 && faults[0].Position == int32(i):
			b.Reject(faults[0].Why, index, i+passed, 1, l)
			for len(faults) > 0 && faults[0].Position == int32(i) {
				faults = faults[1:]
			}
		case isString:
			b.Strings.Times = append(b.Strings.Times, ts[i])
			b.Strings.Values = append(b.Strings.Values, n.Strings[len(n.Strings)-len(texts)-1].Text)
		default:
			ts[kept], values[kept] = ts[i], values[i]
			kept++
		}
	}
	b.Numbers.Times, b.Numbers.Values = b.Numbers.Times[:from+kept], b.Numbers.Values[:from+kept]
}
