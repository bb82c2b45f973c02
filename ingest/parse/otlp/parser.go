package otlp

import (
	"fmt"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Parser parses requests of OTLP into a batch.
type Parser struct {
	hooks     block.Hooks
	cache     *block.LabelCache
	promoted  map[string]bool // attributes of resources that become tags
	batch     *block.Batch
	b         []byte // the request in protobuf
	maxPoints int
	index     int  // of the data point in the request
	inInfo    bool // the attributes of the resource are being stored
	err       *fault.Error

	resource resource
	scope    scope
	metric   metric
	point    point

	tags       []pointblock.Tag // that are being read
	notes      block.Notes
	lists      lists
	tokenBytes int // size of the tokens that were composed
	uncached   uint64
}

// New creates a Parser that uses the cache. The attributes of resources whose keys are in promoted become tags of all
// series of the resource.
func New(cache *block.LabelCache, promoted []string) *Parser {
	p := &Parser{cache: cache, promoted: map[string]bool{}}
	for _, key := range promoted {
		p.promoted[key] = true
	}
	p.hooks = block.Hooks{
		FieldPath: p.fieldPath, ListName: func() string { return "resourceMetrics" }, Resolved: p.cacheSeries,
		Read: p.readLabel,
	}
	p.notes.Unindexed = true
	return p
}

// Reset removes all references to the request.
func (p *Parser) Reset() {
	clear(p.tags[:cap(p.tags)])
	p.notes.Release()
	p.lists.reset()
	*p = Parser{
		hooks: p.hooks, cache: p.cache, promoted: p.promoted, tags: p.tags[:0], notes: p.notes, lists: p.lists,
	}
}

// DataPoints returns the number of data points in the parsed request.
func (p *Parser) DataPoints() int { return p.index }

// Parse parses the batch's body as an ExportMetricsServiceRequest in protobuf.
func (p *Parser) Parse(b *block.Batch, maxPoints int) error {
	p.begin(b, b.Body, maxPoints)
	return p.parse()
}

// ParseJSON parses the batch's body as an ExportMetricsServiceRequest in the JSON of OTLP.
func (p *Parser) ParseJSON(b *block.Batch, maxPoints int) error {
	b.Hooks = p.hooks
	encoded, err := appendRequest(b.Unescaped, b.Body, maxPoints)
	if err != nil {
		return err
	}
	from := len(b.Unescaped)
	b.Unescaped = encoded
	p.begin(b, encoded[from:len(encoded):len(encoded)], maxPoints)
	return p.parse()
}

func (p *Parser) begin(b *block.Batch, body []byte, maxPoints int) {
	b.Hooks, b.Texts = p.hooks, pointblock.KindSpecial
	p.batch, p.b, p.maxPoints = b, body, maxPoints
}

func (p *Parser) parse() error {
	for i := 0; i < len(p.b); {
		var f protobuf.Field
		if f, i = protobuf.Next(p.b, i); i == scan.Failed || f.Tag == requestResources && !p.resourceMetrics(f.Bytes) {
			return p.parseError()
		}
	}
	return nil
}

func (p *Parser) parseError() error {
	if p.err != nil {
		return p.err
	}
	return malformed()
}

func malformed() *fault.Error {
	return fault.Field(fault.Malformed, "body", "is not an ExportMetricsServiceRequest of OpenTelemetry")
}

func tooMany(maxPoints int) *fault.Error {
	return fault.Field(fault.TooLarge, "body", fmt.Sprintf(
		"must hold at most %d points in one request (a histogram has one for each bucket)", maxPoints,
	)).With("limit", maxPoints)
}

// resourceMetrics parses a ResourceMetrics. Its fields can be in any order, so the resource is found first.
func (p *Parser) resourceMetrics(b []byte) bool {
	raw, ok := lastBytes(b, resourceResource)
	if !ok || !p.beginResource(raw) {
		return false
	}
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); f.Tag == resourceScopes && !p.scopeMetrics(f.Bytes) {
			return false
		}
	}
	return p.targetInfo()
}

func (p *Parser) scopeMetrics(b []byte) bool {
	raw, ok := lastBytes(b, scopeScope)
	if !ok {
		return false
	}
	schemaURL, _ := lastBytes(b, scopeSchemaURL)
	if !p.beginScope(raw, schemaURL) {
		return false
	}
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); f.Tag == scopeMetrics && !p.parseMetric(f.Bytes) {
			return false
		}
	}
	return true
}

// metric is the metric that is being parsed.
type metric struct {
	*layout        // nil: of a type that is unknown, or without one
	data    []byte // the message with the data points
	tag     uint64 // of data
	name    string //
	help    string // the description
	unit    string
	delta   bool // its values are changes since the last ones
	fault   rejection.Reason
	names   [seriesKinds]string
	token   []byte // of the series without a bound and suffix
}

// readMetric parses a Metric, but not its data points.
func readMetric(b []byte) (m metric, ok bool) {
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); i == scan.Failed {
			return m, false
		}
		switch f.Tag {
		case metricName:
			m.name = scan.View(f.Bytes)
		case metricHelp:
			m.help = scan.View(f.Bytes)
		case metricUnit:
			m.unit = scan.View(f.Bytes)
		default:
			if l := layouts[f.Tag]; l != nil {
				m.layout, m.data, m.tag = l, f.Bytes, f.Tag
			}
		}
	}
	return m, true
}

func (p *Parser) parseMetric(b []byte) (ok bool) {
	if p.metric, ok = readMetric(b); !ok || p.metric.layout == nil {
		return ok
	}
	m := &p.metric
	temporality, monotonic := uint64(0), false
	for i := 0; i < len(m.data); {
		var f protobuf.Field
		if f, i = protobuf.Next(m.data, i); i == scan.Failed {
			return false
		}
		switch f.Tag {
		case dataTemporality:
			temporality = f.Value
		case dataMonotonic:
			monotonic = f.Value != 0
		}
	}
	if m.temporality {
		m.delta = temporality == temporalityDelta
		if !m.delta && temporality != temporalityCumulative {
			m.fault = rejection.SumTemporality
		}
	}
	first := p.index
	for i := 0; i < len(m.data); {
		var f protobuf.Field
		if f, i = protobuf.Next(m.data, i); f.Tag == dataPoints && !p.dataPoint(f.Bytes) {
			return false
		}
	}
	if p.index > first && m.fault == rejection.None {
		p.describe(monotonic && m.tag == metricSum)
	}
	return true
}

// describe adds the metadata of the metric to the batch.
func (p *Parser) describe(monotonic bool) {
	m := &p.metric
	kind := m.kind
	switch {
	case m.delta:
		kind = metricmetadata.TypeOf(0) // Prometheus has no type for it
	case monotonic:
		kind = "counter"
	}
	p.batch.AddMetadata(&metricmetadata.Metadata{Metric: m.name, Type: kind, Help: m.help, Unit: m.unit})
}

// lastBytes returns the last field of a message with the tag, nil if there is none. It returns false if b is not a
// message.
func lastBytes(b []byte, tag uint64) (value []byte, ok bool) {
	for i := 0; i < len(b); {
		var f protobuf.Field
		if f, i = protobuf.Next(b, i); i == scan.Failed {
			return nil, false
		}
		if f.Tag == tag {
			value = f.Bytes
		}
	}
	return value, true
}
