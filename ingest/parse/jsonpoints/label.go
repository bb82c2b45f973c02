package jsonpoints

import (
	"strings"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// sourceNameLength is the maximum length of a source name, in bytes. No source has a longer name.
const sourceNameLength = 1024

// newLabel creates the label of the tokens t, which must be JSON of the right types. It records
// in the label the rule that its values break.
func (p *Parser) newLabel(t block.Tokens, hash uint64, ownTags []pointblock.Tag) int32 {
	b := p.batch
	l := block.Label{Tokens: t, Hash: hash, Tags: ownTags, Metric: b.Labels.Defaults.Metric}
	if len(t.Metric) > 0 {
		l.Metric = p.unescape(t.Metric, scan.HasEscape(t.Metric))
		l.Refused = block.CheckMetric(l.Metric)
	}
	source := &t
	if len(t.Source) == 0 {
		source = &b.Labels.Defaults.Source
	}
	l.Source = p.source(source)
	if len(ownTags) > 0 && l.Refused == rejection.None {
		l.Refused, l.InvalidTag = block.CheckTags(ownTags)
		if l.Refused == rejection.None && block.CountMerged(ownTags, b.Labels.Defaults.Tags) > block.MaxTags {
			l.Refused = rejection.TagsMany
		}
	}
	if hasAllTokens(&t) && l.Refused == rejection.None {
		p.cache.Lookup(b, block.FormJSON, &l)
	}
	return b.Labels.Insert(l)
}

// hasAllTokens reports whether no default of the request applies, except for its tags.
func hasAllTokens(t *block.Tokens) bool { return len(t.Source) > 0 && len(t.Metric) > 0 }

// cacheSeries adds the series of a label to the cache.
func (p *Parser) cacheSeries(l *block.Label, ref pointblock.SeriesRef, identity *pointblock.Identity) {
	if hasAllTokens(&l.Tokens) && len(p.batch.Labels.Defaults.Tags) == 0 {
		p.cache.Add(p.batch, block.FormJSON, l, ref, identity)
	}
}

// source returns the index of the source that t names.
func (p *Parser) source(t *block.Tokens) int32 {
	sources := &p.batch.Sources
	key := block.SourceToken{Token: scan.View(t.Source), ByName: t.ByName}
	i, ok := sources.Find(key)
	if !ok {
		i = sources.Add(key, newSource(p.unescape(t.Source, scan.HasEscape(t.Source)), t.ByName))
	}
	return i
}

func newSource(text string, byName bool) block.Source {
	if byName {
		void := text == "" || len(text) > sourceNameLength || strings.IndexByte(text, 0) >= 0
		return block.Source{Name: text, ByName: true, InvalidName: void}
	}
	id, ok := parseUUID(text)
	return block.Source{ID: id, InvalidName: !ok}
}

// unescape returns the value of a string token. token includes the quotes.
func (p *Parser) unescape(token []byte, escaped bool) string {
	b := p.batch
	inner := token[1 : len(token)-1]
	if !escaped {
		return scan.View(inner)
	}
	from := len(b.Unescaped)
	b.Unescaped = appendUnescaped(b.Unescaped, inner)
	return scan.View(b.Unescaped[from:])
}
