package ingest

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// newLabel makes the label of a head and a field's key, or fails with why the
// line cannot be read.
func (p *lineParser) newLabel(t tokens, hash uint64) int32 {
	b := p.batch
	if !utf8.Valid(t.metric) {
		return int32(p.fail(lineUTF8))
	}
	if string(p.head.raw) != string(t.tags) && !p.readHead(t.tags) {
		return failed
	}
	l := label{
		tokens: t, hash: hash, metric: p.unescapeName(t.metric, inKey),
		tags: p.head.tags, source: p.head.source, refused: p.head.refused, culprit: p.head.culprit,
	}
	if l.refused == accepted {
		l.refused = checkMetric(l.metric)
	}
	return b.labels.insert(l)
}

// readHead reads measurement and tags. Not ok is what cannot be read; a head that
// breaks a rule is one that is refused.
func (p *lineParser) readHead(raw []byte) (ok bool) {
	p.head = head{}
	if !utf8.Valid(raw) {
		p.fail(lineUTF8)
		return false
	}
	end := scanEscaped(raw, 0, inMeasurement)
	if end == 0 {
		p.fail(lineMeasurement)
		return false
	}
	h := head{raw: raw}
	if h.refused, ok = p.readTags(raw, end); !ok {
		p.fail(lineTag)
		return false
	}
	if h.refused == accepted {
		h.refused, h.culprit = checkTags(p.tags)
	}
	if h.refused == accepted {
		slices.SortFunc(p.tags, func(a, b pointblock.Tag) int { return cmp.Compare(a.Key, b.Key) })
		h.tags = p.batch.labels.keep(p.tags)
		for i := 1; i < len(h.tags); i++ {
			if h.tags[i].Key == h.tags[i-1].Key {
				h.refused, h.culprit = tagTwice, h.tags[i].Key
			}
		}
	}
	measurement := raw[:end]
	h.source = p.batch.sources.internName(view(measurement), func() string {
		return p.unescapeName(measurement, inMeasurement)
	})
	p.head = h
	return true
}

// readTags reads the tags from raw[i] on, each after a comma, into p.tags.
func (p *lineParser) readTags(raw []byte, i int) (refused reason, ok bool) {
	p.tags = p.tags[:0]
	for i < len(raw) {
		if len(p.tags) == maxTags {
			return tagsMany, true // the rest is not read: there may be millions
		}
		i++ // the comma
		equals := scanEscaped(raw, i, inKey)
		if equals == i || equals == len(raw) || raw[equals] != '=' {
			return accepted, false
		}
		end := scanEscaped(raw, equals+1, inKey)
		if end == equals+1 || end < len(raw) && raw[end] != ',' {
			return accepted, false
		}
		p.tags = append(p.tags, pointblock.Tag{
			Key: p.unescapeName(raw[i:equals], inKey), Value: p.unescapeName(raw[equals+1:end], inKey),
		})
		i = end
	}
	return accepted, true
}

// special is a set of characters that end a name, unless a backslash stands
// before them.
type special uint8

const (
	inMeasurement special = iota // comma and space
	inKey                        // equals sign, too: keys, and the values of tags
)

func (s special) has(c byte) bool { return c == ',' || c == ' ' || s == inKey && c == '=' }

// scanEscaped returns where the name at b[i] ends: at a special character, at the
// end of the line, or with b. A backslash before anything else is itself.
func scanEscaped(b []byte, i int, s special) int {
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\n', s.has(c):
			return i
		case c == '\\' && i+1 < len(b) && s.has(b[i+1]):
			i++
		}
	}
	return i
}

// unescapeName returns a name without the backslashes before special characters.
func (p *lineParser) unescapeName(raw []byte, s special) string {
	b := p.batch
	if !hasEscape(raw) {
		return view(raw)
	}
	from := len(b.unescaped)
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) && s.has(raw[i+1]) {
			i++
		}
		b.unescaped = append(b.unescaped, raw[i])
	}
	return view(b.unescaped[from:])
}
