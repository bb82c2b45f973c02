package lineprotocol

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Parser reads the line protocol of InfluxDB into a batch, in one pass over
// the bytes. A line is
//
//	measurement[,tag=value…] field=value[,field=value…] [timestamp]
//
// Each of its fields is a point of the source that the measurement names. The
// tokens of a point's label are the head, which is the part before the fields,
// and the field's key. So a series that occurred before, in this request or in one
// whose labels are cached, is compared, not parsed.
//
// A line that cannot be parsed is rejected as one point. The next line then
// begins after the first line end outside of its strings.
type Parser struct {
	hooks     block.Hooks
	cache     *block.LabelCache
	batch     *block.Batch
	b         []byte // the body
	maxPoints int
	unit      scan.Unit

	start        int              // index of the line
	why          rejection.Reason // why the line cannot be parsed
	invalidField string           // the field that cannot be parsed

	hashedHead      []byte // the head whose hash is in hash
	hash            uint64
	lastTimestamp   []byte // the last valid timestamp
	lastTimestampUS int64  // its time
	head            head
	faults          []fieldFault     // fields of the line that break a rule
	tags            []pointblock.Tag // of the head that is being parsed
}

// fieldFault is a rule that one field of a line breaks.
type fieldFault struct {
	label int32
	why   rejection.Reason
}

// head is the parsed part of a line before its fields: measurement and tags.
type head struct {
	raw        []byte
	source     int32
	tags       []pointblock.Tag // sorted
	refused    rejection.Reason
	invalidTag string
}

// New creates a Parser that uses the cache.
func New(cache *block.LabelCache) *Parser {
	p := &Parser{cache: cache}
	p.hooks = block.Hooks{
		FieldPath: fieldPath, ListName: func() string { return "body" }, Line: p.lineAt, Resolved: p.cacheSeries,
		Read: func(l *block.Label) { p.readLabel(l) },
	}
	return p
}

// Reset removes all references to the request.
func (p *Parser) Reset() {
	clear(p.tags)
	*p = Parser{hooks: p.hooks, cache: p.cache, tags: p.tags[:0], faults: p.faults[:0]}
}

// lineAt returns the number of the line that begins at an index of the body.
func (p *Parser) lineAt(i int) int { return 1 + bytes.Count(p.b[:i], []byte{'\n'}) }

// byteOrderMark may precede the first line.
var byteOrderMark = []byte("\ufeff")

// Parse parses the batch's body. precision is the unit of the timestamps: one of precisions, or
// empty for nanoseconds. Parse returns an error only if the whole request is refused. Errors of
// single lines and points are counted in the batch's tally.
func (p *Parser) Parse(b *block.Batch, precision string, maxPoints int) error {
	b.Hooks = p.hooks
	unit, ok := UnitOf(precision)
	if !ok {
		return fault.Field(fault.Malformed, "precision", "is not one of the allowed values", precisions...)
	}
	p.batch, p.b, p.maxPoints, p.unit = b, b.Body, maxPoints, unit
	b.Rows = true // the batch treats lines as rows
	i := 0
	if bytes.HasPrefix(p.b, byteOrderMark) {
		i = len(byteOrderMark)
	}
	for i < len(p.b) {
		i = p.line(i)
		if b.Points > maxPoints {
			// TooLarge makes clients of this protocol send smaller batches.
			return fault.Field(fault.TooLarge, "body", fmt.Sprintf(
				"must hold at most %d points in one request", maxPoints,
			)).With("limit", maxPoints)
		}
	}
	return nil
}

// line reads the line at b[i] and returns where the next one begins.
func (p *Parser) line(i int) (next int) {
	raw := p.expectedHead(i)
	if raw == nil {
		if i = skipBlanks(p.b, i); i == len(p.b) || p.b[i] == '\n' || p.b[i] == '#' {
			return nextLine(p.b, i)
		}
		if next, ends := lineEnds(p.b, i); ends {
			return next
		}
		raw = p.b[i:scanHead(p.b, i)]
	}
	p.start = i
	end := p.fields(raw, skipBlanks(p.b, i+len(raw)))
	if end == scan.Failed {
		return p.reject()
	}
	us, next, why := p.time(end)
	if next == scan.Failed {
		return p.reject()
	}
	p.commit(us, why)
	return next
}

// expectedHead returns the head at b[i] if it is the head of the expected label, else nil.
func (p *Parser) expectedHead(i int) []byte {
	expected := p.batch.Labels.Expected()
	if expected == nil {
		return nil
	}
	raw := expected.Tokens.Tags
	// An unescaped space follows, so the head ends here.
	if end := i + len(raw); end < len(p.b) && p.b[end] == ' ' && string(p.b[i:end]) == string(raw) {
		return raw
	}
	return nil
}

// fields parses the fields that begin at b[i] and returns the index of their end, or failed.
// It appends their values to the columns; commit adds the timestamp, which is at the line's end.
func (p *Parser) fields(raw []byte, i int) int {
	for n := 0; ; n++ {
		if n > p.maxPoints { // one line has too many points: stop here
			p.batch.Points += n
			return p.fail(rejection.LineField)
		}
		label, value := p.field(raw, i)
		if value == scan.Failed {
			return scan.Failed
		}
		if i = p.value(label, value); i == scan.Failed {
			return scan.Failed
		}
		if i == len(p.b) || p.b[i] != ',' {
			return i
		}
		i++
	}
}

// field parses the key at b[i]. It returns the label of the field's points and the index of its
// value, or failed.
func (p *Parser) field(raw []byte, i int) (label int32, value int) {
	labels := &p.batch.Labels
	if expected := labels.Expected(); expected != nil && string(expected.Tokens.Tags) == string(raw) {
		key := expected.Tokens.Metric
		if end := i + len(key); end < len(p.b) && p.b[end] == '=' && string(p.b[i:end]) == string(key) {
			labels.Last = labels.List[labels.Last].Next
			return labels.Last, end + 1
		}
	}
	end := scanEscaped(p.b, i, inKey)
	switch {
	case end == len(p.b) || p.b[end] != '=':
		why := rejection.LineField
		if atLineEnd(p.b, i) && i == skipBlanks(p.b, p.start+len(raw)) {
			why = rejection.LineNoField
		}
		return 0, p.fail(why)
	case end == i:
		return 0, p.fail(rejection.LineField)
	}
	t := block.Tokens{Tags: raw, Metric: p.b[i:end]}
	if label = p.cache.Predict(p.batch, block.FormLine, &t); label < 0 {
		hash := p.hashOf(&t)
		if label = labels.FindHashed(&t, hash); label < 0 {
			if label = p.newLabel(t, hash); label < 0 {
				return 0, scan.Failed
			}
		}
	}
	labels.Follow(label)
	return label, end + 1
}

// hashOf returns the hash of the tokens of a field. The hash of the head is reused for all fields
// of a line.
func (p *Parser) hashOf(t *block.Tokens) uint64 {
	seed := p.batch.Labels.Seed
	if len(p.hashedHead) != len(t.Tags) || &p.hashedHead[0] != &t.Tags[0] {
		p.hashedHead, p.hash = t.Tags, maphash.Bytes(seed, t.Tags)
	}
	return p.hash*0x9e3779b97f4a7c15 ^ maphash.Bytes(seed, t.Metric)
}

// commit sets the time of the line's points, or counts them as rejected.
func (p *Parser) commit(us int64, why rejection.Reason) {
	b := p.batch
	for _, f := range p.faults {
		b.Points++
		b.Reject(f.why, p.start, rejection.NoPosition, 1, &b.Labels.List[f.label])
	}
	p.faults = p.faults[:0]
	commit(p, &b.Numbers, pointblock.KindNumber, us, why)
	if len(b.Strings.Label) > len(b.Strings.Times) {
		commit(p, &b.Strings, pointblock.KindString, us, why)
	}
}

func commit[V any](p *Parser, c *block.Column[V], kind pointblock.Kind, us int64, why rejection.Reason) {
	b := p.batch
	from := len(c.Times)
	b.Points += len(c.Label) - from
	for _, label := range c.Label[from:] {
		l := &b.Labels.List[label]
		if why != rejection.None {
			b.Reject(why, p.start, rejection.NoPosition, 1, l)
			continue
		}
		if l.Count[kind-1] == 0 {
			l.First[kind-1] = int32(p.start)
		}
		l.Count[kind-1]++
		c.Times = append(c.Times, us)
		c.Index = append(c.Index, int32(p.start))
	}
	if why != rejection.None {
		c.Label, c.Values = c.Label[:from], c.Values[:from]
	}
}

// fail records why the line cannot be parsed and returns failed.
func (p *Parser) fail(why rejection.Reason) int {
	p.why = why
	return scan.Failed
}

// reject removes the points of a line that cannot be parsed, counts the line as one
// rejected point, and returns the index of the next line.
func (p *Parser) reject() (next int) {
	b := p.batch
	n, s := len(b.Numbers.Times), len(b.Strings.Times)
	b.Numbers.Label, b.Numbers.Values = b.Numbers.Label[:n], b.Numbers.Values[:n]
	clear(b.Strings.Values[s:])
	b.Strings.Label, b.Strings.Values = b.Strings.Label[:s], b.Strings.Values[:s]
	p.faults = p.faults[:0]
	b.Points++
	if field := b.Rejected.Add(p.why, p.start, rejection.NoPosition, 1); field != nil {
		*field = p.unparsedField()
	}
	p.invalidField = ""
	return skipLine(p.b, p.start)
}
