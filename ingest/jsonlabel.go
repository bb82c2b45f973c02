package ingest

import (
	"strings"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// sourceNameLength is how many bytes a source's name may have; a longer name is of no source.
const sourceNameLength = 1024

// newLabel creates the label of these tokens, which the caller has checked to be
// JSON of the right types, and notes in it whether its values break a rule.
func (p *parser) newLabel(t tokens, hash uint64, own []pointblock.Tag) int32 {
	b := p.batch
	l := label{tokens: t, hash: hash, tags: own, metric: b.labels.defaults.metric}
	if len(t.metric) > 0 {
		l.metric = p.unescape(t.metric, hasEscape(t.metric))
		l.refused = checkMetric(l.metric)
	}
	source := &t
	if len(t.source) == 0 {
		source = &b.labels.defaults.source
	}
	l.source = p.source(source)
	if len(own) > 0 && l.refused == accepted {
		l.refused, l.culprit = checkTags(own)
		if l.refused == accepted && countMerged(own, b.labels.defaults.tags) > maxTags {
			l.refused = tagsMany
		}
	}
	return b.labels.insert(l)
}

// source returns the index of the source that a token names.
func (p *parser) source(t *tokens) int32 {
	sources := &p.batch.sources
	key := sourceToken{token: view(t.source), byName: t.byName}
	i, ok := sources.find(key)
	if !ok {
		i = sources.add(key, newSourceRef(p.unescape(t.source, hasEscape(t.source)), t.byName))
	}
	return i
}

func newSourceRef(text string, byName bool) sourceRef {
	if byName {
		void := text == "" || len(text) > sourceNameLength || strings.IndexByte(text, 0) >= 0
		return sourceRef{name: text, byName: true, void: void}
	}
	id, ok := parseUUID(text)
	return sourceRef{id: id, void: !ok}
}

// unescape returns the text of a string token, its quotes included.
func (p *parser) unescape(token []byte, escaped bool) string {
	b := p.batch
	inner := token[1 : len(token)-1]
	if !escaped {
		return view(inner)
	}
	from := len(b.unescaped)
	b.unescaped = appendUnescaped(b.unescaped, inner)
	return view(b.unescaped[from:])
}
