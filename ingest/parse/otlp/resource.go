package otlp

import (
	"hash/maphash"
	"slices"
	"unicode/utf8"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/truncate"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Attributes of resources that name the source
// (https://opentelemetry.io/docs/specs/semconv/resource/#service).
const (
	serviceName      = "service.name"
	serviceNamespace = "service.namespace"
	serviceInstance  = "service.instance.id"
)

// defaultSource is the source name of resources without any of these attributes.
const defaultSource = "opentelemetry"

const (
	// infoMetric is the metric with the attributes of a resource, as in Prometheus.
	infoMetric = "target_info"
	// maxInfoAttributes is the number of attributes of a resource among which those of infoMetric are chosen.
	maxInfoAttributes = 1024
	scopePrefix       = "otel_scope_"
	temporalityTag    = "__temporality__"
)

// resource is the resource whose metrics are being parsed.
type resource struct {
	raw                       []byte
	hash                      uint64
	namespace, name, instance string
	source                    int32 // index in the batch; valid if named
	named                     bool
	promoted                  []pointblock.Tag
	hasInfo                   bool  // it has attributes that do not name the source
	latestUS                  int64 // of its data points; 0: none was accepted
	cacheable                 bool
	first                     int // index of its first data point
}

// scope is the scope whose metrics are being parsed.
type scope struct {
	raw        []byte // name, version and attributes, followed by the URL of the schema
	length     int    // of the scope in raw
	tags       []pointblock.Tag
	refused    rejection.Reason
	invalidTag string
}

func (p *Parser) beginResource(raw []byte) (ok bool) {
	p.resource, ok = p.readResource(raw)
	r := &p.resource
	r.cacheable = len(raw) <= maxTokens
	r.first = p.index
	if r.cacheable {
		r.hash = maphash.Bytes(p.batch.Labels.Seed, raw)
	}
	return ok
}

// readResource parses a Resource.
func (p *Parser) readResource(raw []byte) (r resource, ok bool) {
	r.raw = raw
	p.tags = p.tags[:0]
	for i := 0; i < len(raw); {
		var f protobuf.Field
		if f, i = protobuf.Next(raw, i); i == scan.Failed {
			return r, false
		}
		if f.Tag != resourceAttr {
			continue
		}
		key, value, ok := p.readPair(f.Bytes)
		if !ok {
			return r, false
		}
		switch {
		case value == "":
			continue
		case p.promoted[key] && len(p.tags) <= block.MaxTags:
			p.tags = append(p.tags, pointblock.Tag{Key: key, Value: truncate.Bytes(value, block.MaxTextBytes)})
		}
		switch key {
		case serviceName:
			r.name = value
		case serviceNamespace:
			r.namespace = value
		case serviceInstance:
			r.instance = value
		default:
			r.hasInfo = true
		}
	}
	block.SortTags(p.tags)
	r.promoted = p.batch.Labels.CopyTags(slices.CompactFunc(p.tags, sameKey))
	return r, true
}

func sameKey(a, b pointblock.Tag) bool { return a.Key == b.Key }

// sourceOf returns the index of the resource's source.
func (p *Parser) sourceOf(r *resource) int32 {
	if r.named {
		return r.source
	}
	b := p.batch
	from := len(b.Unescaped)
	for _, part := range [...]string{r.namespace, r.name, r.instance} {
		if part == "" {
			continue
		}
		if len(b.Unescaped) > from {
			b.Unescaped = append(b.Unescaped, '/')
		}
		b.Unescaped = append(b.Unescaped, part...)
	}
	name := defaultSource
	if len(b.Unescaped) > from {
		name = scan.View(b.Unescaped[from:len(b.Unescaped):len(b.Unescaped)])
	}
	r.source, r.named = b.Sources.InternName(name), true
	return r.source
}

// targetInfo stores the attributes of the resource, at the time of its last data point.
func (p *Parser) targetInfo() bool {
	r := &p.resource
	if !r.hasInfo || r.latestUS == 0 {
		return true
	}
	index := p.index
	p.index = r.first
	p.point = point{us: r.latestUS, cacheable: r.cacheable}
	ok := p.put(seriesInfo, 0, 1)
	if p.err == nil && p.point.refused != rejection.None {
		p.inInfo = true
		ok = p.rejectPoint()
		p.inInfo = false
	}
	p.index = index
	return ok
}

// infoTags returns the attributes of a resource that do not name the source: at most as many as a series can have, and
// cut to the length that a tag can have, because descriptions of a process are often long.
func (p *Parser) infoTags(raw []byte) (tags []pointblock.Tag, refused rejection.Reason, invalidTag string) {
	p.tags = p.tags[:0]
	for i := 0; i < len(raw) && len(p.tags) < maxInfoAttributes; {
		var f protobuf.Field
		f, i = protobuf.Next(raw, i)
		if f.Tag != resourceAttr {
			continue
		}
		key, value, _ := p.readPair(f.Bytes)
		if value == "" || key == serviceName || key == serviceNamespace || key == serviceInstance {
			continue
		}
		p.tags = append(p.tags, pointblock.Tag{Key: key, Value: truncate.Bytes(value, block.MaxTextBytes)})
	}
	refused, invalidTag = checkTags(p.tags, min(len(p.tags), block.MaxTags))
	return p.batch.Labels.CopyTags(p.tags[:min(len(p.tags), block.MaxTags)]), refused, invalidTag
}

func (p *Parser) beginScope(raw, schemaURL []byte) (ok bool) {
	s := &p.scope
	*s = scope{raw: raw, length: len(raw)}
	if len(schemaURL) > 0 {
		unescaped := &p.batch.Unescaped
		from := len(*unescaped)
		*unescaped = append(append(*unescaped, raw...), schemaURL...)
		s.raw = (*unescaped)[from:len(*unescaped):len(*unescaped)]
	}
	return p.readScope(s)
}

// readScope parses the bytes of a scope into its tags.
func (p *Parser) readScope(s *scope) bool {
	p.tags = p.tags[:0]
	raw := s.raw[:s.length]
	for i := 0; i < len(raw); {
		var f protobuf.Field
		if f, i = protobuf.Next(raw, i); i == scan.Failed {
			return false
		}
		switch f.Tag {
		case scopeName:
			p.addTag("otel_scope_name", scan.View(f.Bytes))
		case scopeVersion:
			p.addTag("otel_scope_version", scan.View(f.Bytes))
		case scopeAttr:
			key, value, ok := p.readPair(f.Bytes)
			if !ok {
				return false
			}
			if value != "" && len(key) <= maxTokens {
				p.addTag(p.join(scopePrefix, key), value)
			}
		}
	}
	p.addTag("otel_scope_schema_url", scan.View(s.raw[s.length:]))
	s.refused, s.invalidTag = checkTags(p.tags, len(p.tags))
	s.tags = p.batch.Labels.CopyTags(p.tags)
	return true
}

// addTag adds a tag, unless it is empty or there are too many.
func (p *Parser) addTag(key, value string) {
	if value != "" && len(p.tags) <= block.MaxTags {
		p.tags = append(p.tags, pointblock.Tag{Key: key, Value: value})
	}
}

// join returns a text of two parts, which is valid until the end of the request.
func (p *Parser) join(a, b string) string {
	unescaped := &p.batch.Unescaped
	from := len(*unescaped)
	*unescaped = append(append(*unescaped, a...), b...)
	return scan.View((*unescaped)[from:len(*unescaped):len(*unescaped)])
}

// checkTags sorts tags and returns the first rule that they break, and the tag that breaks it. count is the number of
// tags of the series.
func checkTags(tags []pointblock.Tag, count int) (why rejection.Reason, invalidTag string) {
	block.SortTags(tags)
	for i := range tags {
		if i > 0 && tags[i].Key == tags[i-1].Key {
			return rejection.TagTwice, tags[i].Key
		}
		if !utf8.ValidString(tags[i].Key) || !utf8.ValidString(tags[i].Value) {
			return rejection.TagUTF8, validKey(tags[i].Key)
		}
	}
	if count > block.MaxTags {
		return rejection.TagsMany, ""
	}
	return block.CheckTags(tags)
}
