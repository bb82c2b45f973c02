package ingest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// mishap is a rule that one entry of a series breaks.
type mishap struct {
	position int32
	why      reason
}

// textAt is a string among a series' values.
type textAt struct {
	position int32
	text     string
}

// series reads the series object at b[i]. Its arrays are read straight into the
// batch's columns of numbers; only where an entry is rejected or is a string,
// are they put right afterwards.
func (p *parser) series(i int) int {
	b := p.batch
	from := len(b.numbers.ts)
	p.faults, p.texts = p.faults[:0], p.texts[:0]
	var seen fields
	var t tokens
	i, more := p.firstMember(i)
	for more {
		var f field
		if f, i = p.member(i, seriesFields, &seen); i == failed {
			return failed
		}
		switch f {
		case fieldTimestamps:
			i = p.times(i)
		case fieldValues:
			i = p.values(i)
		default:
			i = p.identityToken(f, i, seen, &t, nil)
		}
		if i == failed {
			return failed
		}
		i, more = p.nextMember(i)
	}
	if i == failed || p.required(seen, fieldValues, fieldTimestamps) == failed {
		return failed
	}
	n, values := len(b.numbers.ts)-from, len(b.numbers.values)-from
	if n != values {
		return p.fail(fault.Field(fault.Invalid, p.path(fieldNames[fieldValues]),
			fmt.Sprintf("must have as many entries as timestamps: %d, not %d", n, values)))
	}
	b.points += n
	p.addSeries(from, p.label(&t, nil))
	return i
}

// addSeries makes a block of the points from an index of the columns on.
func (p *parser) addSeries(from int, at int32) {
	b := p.batch
	l := &b.labels.list[at]
	texts := len(b.strings.ts)
	switch {
	case l.refused != accepted:
		b.reject(l.refused, p.index, whole, len(b.numbers.ts)-from, l)
		b.numbers.ts, b.numbers.values = b.numbers.ts[:from], b.numbers.values[:from]
	case len(p.faults) > 0 || len(p.texts) > 0:
		p.sift(from, l)
	}
	b.addBlock(at, pointblock.KindNumber, from, len(b.numbers.ts), p.index)
	b.addBlock(at, pointblock.KindString, texts, len(b.strings.ts), p.index)
}

func (b *batch) addBlock(label int32, kind pointblock.Kind, from, to, index int) {
	if from == to {
		return
	}
	l := &b.labels.list[label]
	if l.count[kind-1] == 0 {
		l.first[kind-1] = index
	}
	l.count[kind-1] += to - from
	b.blocks = append(b.blocks, block{
		label: label, kind: kind, from: from, to: to, index: index,
		sifted: b.format == RemoteWrite || len(b.json.faults)+len(b.json.texts) > 0,
	})
}

// sift takes what is rejected out of the columns of numbers, and moves strings
// to their own.
func (p *parser) sift(from int, l *label) {
	b := p.batch
	slices.SortStableFunc(p.faults, func(a, b mishap) int { return cmp.Compare(a.position, b.position) })
	faults, texts, stale := p.faults, p.texts, p.stale
	ts, values := b.numbers.ts[from:], b.numbers.values[from:]
	kept, passed := 0, 0
	for i := range ts {
		for len(stale) > 0 && int(stale[0]) <= i+passed { // it is not in the columns
			stale = stale[1:]
			passed++
		}
		isText := len(texts) > 0 && texts[0].position == int32(i)
		if isText {
			texts = texts[1:]
		}
		switch {
		case len(faults) > 0 && faults[0].position == int32(i):
			b.reject(faults[0].why, p.index, i+passed, 1, l)
			for len(faults) > 0 && faults[0].position == int32(i) {
				faults = faults[1:]
			}
		case isText:
			b.strings.ts = append(b.strings.ts, ts[i])
			b.strings.values = append(b.strings.values, p.texts[len(p.texts)-len(texts)-1].text)
		default:
			ts[kept], values[kept] = ts[i], values[i]
			kept++
		}
	}
	b.numbers.ts, b.numbers.values = b.numbers.ts[:from+kept], b.numbers.values[:from+kept]
}

// times reads the array of timestamps at b[i].
func (p *parser) times(i int) int {
	i, more := p.enterArray(i, fieldTimestamps)
	ts := p.batch.numbers.ts
	from, room := len(ts), p.maxPoints-p.batch.points
	for more {
		us, end, why := p.readTime(i)
		position := len(ts) - from
		if end == failed {
			return p.wrongTypeUnlessSyntax(i, p.entryPath(fieldTimestamps, position), "a string or an integer")
		}
		if why != accepted {
			us = 0
			p.faults = append(p.faults, mishap{position: int32(position), why: why})
		}
		if position == room {
			return p.tooMany()
		}
		ts = append(ts, us)
		i, more = p.nextEntry(end)
	}
	p.batch.numbers.ts = ts
	return i
}

// values reads the array of values at b[i].
func (p *parser) values(i int) int {
	i, more := p.enterArray(i, fieldValues)
	values := p.batch.numbers.values
	from, room := len(values), p.maxPoints-p.batch.points
	for more {
		number, end, why := readScalar(p.b, i)
		position := len(values) - from
		if end == failed && at(p.b, i) == '"' {
			var text string
			if text, end, why = p.readText(i); why == accepted {
				p.texts = append(p.texts, textAt{position: int32(position), text: text})
			}
		}
		if end == failed {
			return p.wrongTypeUnlessSyntax(i, p.entryPath(fieldValues, position), "a number, a boolean or a string")
		}
		if why != accepted {
			p.faults = append(p.faults, mishap{position: int32(position), why: why})
		}
		if position == room {
			return p.tooMany()
		}
		values = append(values, number)
		i, more = p.nextEntry(end)
	}
	p.batch.numbers.values = values
	return i
}

// enterArray enters the array at b[i]: where its first entry begins, or, if it
// has none, where it ends.
func (p *parser) enterArray(i int, f field) (next int, more bool) {
	if at(p.b, i) != '[' {
		return p.wrongType(i, p.path(fieldNames[f]), "an array"), false
	}
	if i = space(p.b, i+1); at(p.b, i) == ']' {
		return i + 1, false
	}
	return i, true
}
