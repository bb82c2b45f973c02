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

// predict returns the index of the label with the tokens t if it is the one that followed the last label in
// an earlier request, or -1.
func (p *Parser) predict(t *block.Tokens) int32 {
	if !p.isCacheable(t) {
		return -1
	}
	labels := &p.batch.Labels
	count := len(labels.List)
	i := p.cache.Predict(p.batch, block.FormJSON, t)
	if int(i) == count {
		labels.List[i].Source = p.source(t)
	}
	return i
}

// newLabel creates the label of the tokens t of the current object. It records in the label the rule that its
// values break.
func (p *Parser) newLabel(t block.Tokens, hash uint64) int32 {
	b := p.batch
	l := block.Label{Tokens: t, Hash: hash}
	b.Labels.Parse(&l)
	l.Metric = b.Labels.Defaults.Metric
	if p.tagsRead {
		l.Tags = b.Labels.CopyTags(p.tags)
	} else {
		l.Tags = p.tagsOf(t.Tags)
	}
	if len(t.Metric) > 0 {
		l.Metric = p.unescape(t.Metric, scan.HasEscape(t.Metric))
		l.Refused = block.CheckMetric(l.Metric)
	}
	source := &t
	if len(t.Source) == 0 {
		source = &b.Labels.Defaults.Source
	}
	l.Source = p.source(source)
	if len(l.Tags) > 0 && l.Refused == rejection.None {
		l.Refused, l.InvalidTag = block.CheckTags(l.Tags)
		if l.Refused == rejection.None && block.CountMerged(l.Tags, b.Labels.Defaults.Tags) > block.MaxTags {
			l.Refused = rejection.TagsMany
		}
	}
	if p.isCacheable(&t) && l.Refused == rejection.None {
		p.cache.Lookup(b, block.FormJSON, &l)
	}
	return b.Labels.Insert(l)
}

// isCacheable reports whether the series of a label depends only on its tokens, because no default of the request
// applies.
func (p *Parser) isCacheable(t *block.Tokens) bool {
	return len(t.Source) > 0 && len(t.Metric) > 0 && len(p.batch.Labels.Defaults.Tags) == 0
}

// readLabel parses a label that was found in the cache, so its tokens are valid.
func (p *Parser) readLabel(l *block.Label) {
	p.batch.Labels.Parse(l)
	l.Metric, l.Tags = p.unescape(l.Tokens.Metric, scan.HasEscape(l.Tokens.Metric)), p.tagsOf(l.Tokens.Tags)
}

// cacheSeries adds the series of a label to the cache.
func (p *Parser) cacheSeries(l *block.Label, ref pointblock.SeriesRef, identity *pointblock.Identity) {
	if p.isCacheable(&l.Tokens) {
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
