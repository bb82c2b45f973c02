package block

import (
	"cmp"
	"slices"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// EntryFault is a rule that an entry of a run breaks.
type EntryFault struct {
	Position int32
	Reason   rejection.Reason
}

// StringEntry is a string value of a run.
type StringEntry struct {
	Position int32
	Text     string
}

// Notes are the entries of a run that are not plain numbers. The parser appends all entries of a
// run to the column of numbers first and records these exceptions. AddRun then corrects the columns.
type Notes struct {
	Faults  []EntryFault
	Strings []StringEntry
	// Unindexed is set if positions in the columns differ from those in the request.
	Unindexed bool
}

// Reset prepares for the next run.
func (n *Notes) Reset() {
	n.Faults, n.Strings = n.Faults[:0], n.Strings[:0]
}

// Release resets n and removes its references to the request's body.
func (n *Notes) Release() {
	clear(n.Strings)
	n.Reset()
}

// AddRun adds the entries of the column of numbers that begin at from as runs of one label. index is the
// index of the row or series in the request.
func (b *Batch) AddRun(n *Notes, index, from int, labelIndex int32) {
	l := &b.Labels.List[labelIndex]
	stringsFrom := len(b.Strings.Times)
	switch {
	case l.Refused != rejection.None:
		b.Reject(l.Refused, index, rejection.NoPosition, len(b.Numbers.Times)-from, l)
		b.Numbers.Times, b.Numbers.Values = b.Numbers.Times[:from], b.Numbers.Values[:from]
	case len(n.Faults) > 0 || len(n.Strings) > 0:
		b.filterRun(n, index, from, l)
	}
	filtered := n.Unindexed || len(n.Faults)+len(n.Strings) > 0
	if to := len(b.Numbers.Times); to > from {
		b.appendRun(l, &run{
			label: labelIndex, kind: pointblock.KindNumber, from: int32(from), to: int32(to), index: int32(index),
			filtered: filtered,
		})
	}
	if to := len(b.Strings.Times); to > stringsFrom {
		b.appendRun(l, &run{
			label: labelIndex, kind: b.Texts, from: int32(stringsFrom), to: int32(to), index: int32(index),
			filtered: filtered,
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

// filterRun removes rejected entries from the column of numbers, and moves strings to the column of strings.
func (b *Batch) filterRun(n *Notes, index, from int, l *Label) {
	slices.SortStableFunc(n.Faults, func(a, b EntryFault) int { return cmp.Compare(a.Position, b.Position) })
	faults, strs := n.Faults, n.Strings
	ts, values := b.Numbers.Times[from:], b.Numbers.Values[from:]
	kept := 0
	for i := range ts {
		isString := len(strs) > 0 && strs[0].Position == int32(i)
		if isString {
			strs = strs[1:]
		}
		switch {
		case len(faults) > 0 && faults[0].Position == int32(i):
			b.Reject(faults[0].Reason, index, i, 1, l)
			for len(faults) > 0 && faults[0].Position == int32(i) {
				faults = faults[1:]
			}
		case isString:
			b.Strings.Times = append(b.Strings.Times, ts[i])
			b.Strings.Values = append(b.Strings.Values, n.Strings[len(n.Strings)-len(strs)-1].Text)
		default:
			ts[kept], values[kept] = ts[i], values[i]
			kept++
		}
	}
	b.Numbers.Times, b.Numbers.Values = b.Numbers.Times[:from+kept], b.Numbers.Values[:from+kept]
}
