package lineprotocol

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// newLabel creates the label of a head and a field's key. It fails if the line cannot be
// parsed.
func (p *Parser) newLabel(t block.Tokens, hash uint64) int32 {
	b := p.batch
	l := block.Label{Tokens: t, Hash: hash}
	if p.cache.Lookup(b, block.FormLine, &l) {
		return b.Labels.Insert(l)
	}
	if !utf8.Valid(t.Metric) {
		return int32(p.fail(rejection.LineUTF8))
	}
	if !p.readLabel(&l) {
		return scan.Failed
	}
	if l.Refused == rejection.None {
		l.Refused = block.CheckMetric(l.Metric)
	}
	return b.Labels.Insert(l)
}

// readLabel parses the tokens of a label into its metric, tags and source. It returns false if the
// head cannot be parsed, which does not happen if the label was found in the cache.
func (p *Parser) readLabel(l *block.Label) (ok bool) {
	if string(p.head.raw) != string(l.Tokens.Tags) && !p.readHead(l.Tokens.Tags) {
		return false
	}
	h := &p.head
	p.batch.Labels.Parse(l)
	l.Metric = p.unescapeName(l.Tokens.Metric, inKey)
	l.Tags, l.Source, l.Refused, l.InvalidTag = h.tags, h.source, h.refused, h.invalidTag
	return true
}

// cacheSeries adds the series of a label to the cache.
func (p *Parser) cacheSeries(l *block.Label, ref pointblock.SeriesRef, identity *pointblock.Identity) {
	p.cache.Add(p.batch, block.FormLine, l, ref, identity)
}

// readHead parses measurement and tags into p.head. It returns false if they cannot be
// parsed. If a head breaks a rule, readHead sets its refused field.
func (p *Parser) readHead(raw []byte) (ok bool) {
	p.head = head{}
	if !utf8.Valid(raw) {
		p.fail(rejection.LineUTF8)
		return false
	}
	end := scanEscaped(raw, 0, inMeasurement)
	if end == 0 {
		p.fail(rejection.LineMeasurement)
		return false
	}
	h := head{raw: raw}
	if h.refused, ok = p.readTags(raw, end); !ok {
		p.fail(rejection.LineTag)
		return false
	}
	if h.refused == rejection.None {
		h.refused, h.invalidTag = block.CheckTags(p.tags)
	}
	if h.refused == rejection.None {
		slices.SortFunc(p.tags, func(a, b pointblock.Tag) int { return cmp.Compare(a.Key, b.Key) })
		h.tags = p.batch.Labels.CopyTags(p.tags)
		for i := 1; i < len(h.tags); i++ {
			if h.tags[i].Key == h.tags[i-1].Key {
				h.refused, h.invalidTag = rejection.TagTwice, h.tags[i].Key
			}
		}
	}
	h.source = p.batch.Sources.InternName(p.unescapeName(raw[:end], inMeasurement))
	p.head = h
	return true
}

// readTags parses the tags that begin at raw[i], each after a comma, into p.tags.
func (p *Parser) readTags(raw []byte, i int) (refused rejection.Reason, ok bool) {
	p.tags = p.tags[:0]
	for i < len(raw) {
		if len(p.tags) == block.MaxTags {
			return rejection.TagsMany, true // stop here: there may be millions
		}
		i++ // the comma
		equals := scanEscaped(raw, i, inKey)
		if equals == i || equals == len(raw) || raw[equals] != '=' {
			return rejection.None, false
		}
		end := scanEscaped(raw, equals+1, inKey)
		if end == equals+1 || end < len(raw) && raw[end] != ',' {
			return rejection.None, false
		}
		p.tags = append(p.tags, pointblock.Tag{
			Key: p.unescapeName(raw[i:equals], inKey), Value: p.unescapeName(raw[equals+1:end], inKey),
		})
		i = end
	}
	return rejection.None, true
}

// special is a set of characters that end a name, unless a backslash
// precedes them.
type special uint8

const (
	inMeasurement special = iota // comma and space
	inKey                        // comma, space and equals sign: in keys and tag values
)

func (s special) has(c byte) bool { return c == ',' || c == ' ' || s == inKey && c == '=' }

// scanEscaped returns the end of the name at b[i]: a special character, the end of the
// line, or the end of b. A backslash before any other character is literal.
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
func (p *Parser) unescapeName(raw []byte, s special) string {
	b := p.batch
	if !scan.HasEscape(raw) {
		return scan.View(raw)
	}
	from := len(b.Unescaped)
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) && s.has(raw[i+1]) {
			i++
		}
		b.Unescaped = append(b.Unescaped, raw[i])
	}
	return scan.View(b.Unescaped[from:])
}
