package otlp

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// seriesKind is the part of a metric that a series has.
type seriesKind uint8

const (
	seriesValue seriesKind = iota
	seriesQuantile
	seriesBucket
	seriesCount
	seriesSum
	seriesMin
	seriesMax
	seriesInfo // of a resource
	seriesKinds
)

var suffixes = [seriesKinds]string{
	seriesBucket: "_bucket", seriesCount: "_count", seriesSum: "_sum", seriesMin: "_min", seriesMax: "_max",
}

// longestSuffix is the longest of the suffixes.
const longestSuffix = "_bucket"

// boundTags are the tags with the bound of a series.
var boundTags = [seriesKinds]string{seriesBucket: "le", seriesQuantile: "quantile"}

const (
	// maxTokens is the maximum size of the tokens of a label that is cached. Labels of larger tokens are parsed again.
	maxTokens = 4 << 10
	// maxTokenBytes is the maximum size of all tokens that are composed for a request. Each bucket has its own.
	maxTokenBytes = 32 << 20
	// deltaFlag is set in the first byte of a metric's token if its temporality is delta.
	deltaFlag  = 0x80
	hashFactor = 0x9e3779b97f4a7c15
)

// beginLabels prepares for the labels of the data point.
func (p *Parser) beginLabels() {
	pt := &p.point
	size := len(p.resource.raw) + len(pt.attributes) + len(p.metric.name) + len(p.scope.raw) + len(longestSuffix)
	if pt.cacheable = size <= maxTokens-64; pt.cacheable {
		pt.hash = maphash.Bytes(p.batch.Labels.Seed, pt.attributes)
	}
}

// label returns the index of the label of one of the data point's series. It returns false if a rule is broken, which
// it records in the data point, or if the request is refused.
func (p *Parser) label(kind seriesKind, bound float64) (index int32, ok bool) {
	b := p.batch
	source := p.sourceOf(&p.resource)
	l := block.Label{Source: source}
	token := p.metricToken(kind, bound)
	if token == nil {
		p.uncached++
		l.Hash = p.uncached * hashFactor
	} else {
		l.Tokens = block.Tokens{Source: p.resource.raw, Metric: token, Tags: p.point.attributes}
		if index = p.cache.Predict(b, block.FormOTLP, &l.Tokens); index >= 0 {
			b.Labels.List[index].Source = source
			return index, true
		}
		l.Hash = (p.resource.hash*hashFactor^p.point.hash)*hashFactor ^ maphash.Bytes(b.Labels.Seed, token)
		if index = b.Labels.FindHashed(&l.Tokens, l.Hash); index >= 0 {
			return index, true
		}
		if p.cache.Lookup(b, block.FormOTLP, &l) {
			return b.Labels.Insert(l), true
		}
	}
	if !p.name(&l, kind, bound) {
		return 0, false
	}
	return b.Labels.Insert(l), true
}

// metricToken returns the token of a series of the metric: its kind and temporality, the bound, the metric's name and
// the scope. It is nil if the label is not to be cached.
func (p *Parser) metricToken(kind seriesKind, bound float64) []byte {
	m := &p.metric
	if !p.point.cacheable || p.tokenBytes > maxTokenBytes {
		return nil
	}
	if kind == seriesInfo {
		return []byte{byte(seriesInfo)}
	}
	if kind == seriesValue && m.token != nil {
		return m.token
	}
	unescaped := &p.batch.Unescaped
	from := len(*unescaped)
	first := byte(kind)
	if m.delta {
		first |= deltaFlag
	}
	t := *unescaped
	t = append(t, first)
	if boundTags[kind] != "" {
		t = binary.LittleEndian.AppendUint64(t, math.Float64bits(bound))
	}
	t = binary.AppendUvarint(t, uint64(len(m.name)))
	t = append(t, m.name...)
	t = binary.AppendUvarint(t, uint64(p.scope.length))
	t = append(t, p.scope.raw...)
	*unescaped = t
	t = t[from:len(t):len(t)]
	p.tokenBytes += len(t)
	if kind == seriesValue {
		m.token = t
	}
	return t
}

// readLabel parses the tokens of a label that was found in the cache.
func (p *Parser) readLabel(l *block.Label) {
	t := l.Tokens.Metric
	kind := seriesKind(t[0] &^ deltaFlag)
	p.resource, _ = p.readResource(l.Tokens.Source)
	p.point = point{attributes: l.Tokens.Tags}
	if kind != seriesInfo {
		p.metric = metric{delta: t[0]&deltaFlag != 0}
		t = t[1:]
		bound := 0.0
		if boundTags[kind] != "" {
			bound, t = math.Float64frombits(binary.LittleEndian.Uint64(t)), t[8:]
		}
		n, i := protobuf.Uvarint(t, 0)
		p.metric.name, t = scan.View(t[i:i+int(n)]), t[i+int(n):]
		n, i = protobuf.Uvarint(t, 0)
		p.scope = scope{raw: t[i:], length: int(n)}
		p.readScope(&p.scope)
		p.name(l, kind, bound)
		return
	}
	p.name(l, kind, 0)
}

// name sets the metric and the tags of a label. It returns false if they break a rule.
func (p *Parser) name(l *block.Label, kind seriesKind, bound float64) bool {
	pt := &p.point
	p.batch.Labels.Parse(l)
	if kind == seriesInfo {
		l.Metric = infoMetric
		l.Tags, pt.refused, pt.invalidTag = p.infoTags(p.resource.raw)
		return pt.refused == rejection.None
	}
	if !pt.hasTags && !p.readTags() {
		return false
	}
	l.Metric, l.Tags = p.seriesName(kind), pt.tags
	if key := boundTags[kind]; key != "" {
		l.Tags, l.Shared = p.batch.Labels.CopyTags([]pointblock.Tag{{Key: key, Value: p.boundText(bound)}}), pt.tags
	}
	return true
}

// seriesName returns the metric's name with the suffix of the kind.
func (p *Parser) seriesName(kind seriesKind) string {
	m := &p.metric
	if suffixes[kind] == "" {
		return m.name
	}
	if m.names[kind] == "" {
		m.names[kind] = p.join(m.name, suffixes[kind])
	}
	return m.names[kind]
}

// boundText returns the bound of a bucket or the rank of a quantile as Prometheus writes it.
func (p *Parser) boundText(bound float64) string {
	if math.IsInf(bound, 1) {
		return "+Inf"
	}
	unescaped := &p.batch.Unescaped
	from := len(*unescaped)
	*unescaped = appendFloat(*unescaped, bound)
	return scan.View((*unescaped)[from:len(*unescaped):len(*unescaped)])
}

// readTags parses the tags that all series of the data point have: its attributes, those of the scope, the promoted
// ones of the resource, and the temporality. It returns false if they or the metric's name break a rule, or if the
// request is malformed.
func (p *Parser) readTags() bool {
	pt, m := &p.point, &p.metric
	p.tags = p.tags[:0]
	for i := 0; i < len(pt.attributes); {
		var f protobuf.Field
		f, i = protobuf.Next(pt.attributes, i) // has been validated
		key, value, ok := p.readPair(f.Bytes)
		if !ok {
			p.err = malformed()
			return false
		}
		p.addTag(key, value)
	}
	for _, tag := range p.resource.promoted {
		if !hasKey(p.tags, tag.Key) {
			p.addTag(tag.Key, tag.Value)
		}
	}
	for _, tag := range p.scope.tags {
		p.addTag(tag.Key, tag.Value)
	}
	count := len(p.tags)
	if m.delta {
		p.addTag(temporalityTag, "delta")
		count++
	}
	if m.layout != nil && m.bound {
		count++
	}
	if pt.refused, pt.invalidTag = p.checkNames(count); pt.refused != rejection.None {
		return false
	}
	pt.tags, pt.hasTags = p.batch.Labels.CopyTags(p.tags), true
	return true
}

func hasKey(tags []pointblock.Tag, key string) bool {
	for i := range tags {
		if tags[i].Key == key {
			return true
		}
	}
	return false
}

// checkNames checks the metric's name and p.tags, which it sorts. count is the number of tags of its series.
func (p *Parser) checkNames(count int) (why rejection.Reason, invalidTag string) {
	m := &p.metric
	name := m.name
	if m.layout != nil {
		name = p.seriesName(m.longest)
	}
	switch {
	case m.name == "":
		return rejection.MetricEmpty, ""
	case !utf8.ValidString(m.name):
		return rejection.MetricUTF8, ""
	}
	if why := block.CheckMetric(name); why != rejection.None {
		return why, ""
	}
	if p.scope.refused != rejection.None {
		return p.scope.refused, p.scope.invalidTag
	}
	if why, invalidTag = checkTags(p.tags, count); why != rejection.None {
		return why, invalidTag
	}
	for kind, key := range boundTags {
		if key != "" && m.layout != nil && m.bound && (m.tag == metricSummary) == (seriesKind(kind) == seriesQuantile) &&
			hasKey(p.tags, key) {
			return rejection.TagTwice, key
		}
	}
	return rejection.None, ""
}

// cacheSeries adds the series of a label to the cache.
func (p *Parser) cacheSeries(l *block.Label, ref pointblock.SeriesRef, identity *pointblock.Identity) {
	if len(l.Tokens.Metric) > 0 {
		p.cache.Add(p.batch, block.FormOTLP, l, ref, identity)
	}
}

// validKey returns a key that can be part of a path.
func validKey(key string) string { return strings.ToValidUTF8(key, "\ufffd") }
