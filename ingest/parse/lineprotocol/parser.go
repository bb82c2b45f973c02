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
// and each of its fields a point of the source that the measurement names. The
// label of a point has as its tokens what precedes the fields, and the
// field's key: so a series that came before costs a comparison, not a reading.
//
// A line that cannot be read is rejected alone, as one point; the next line is
// then what follows the first line end outside of its strings.
type Parser struct {
	hooks     block.Hooks
	batch     *block.Batch
	b         []byte // the body
	maxPoints int
	unit      scan.Unit

	start   int              // where the line begins
	why     rejection.Reason // it cannot be read
	culprit string           // the field or tag that is to blame

	hashed  []byte // the head whose hash is known
	hash    uint64
	stamp   []byte // the last timestamp, and what it came to
	stampUS int64
	head    head
	faults  []fieldFault     // fields of the line that break a rule
	tags    []pointblock.Tag // of the head that is being read
}

// fieldFault is a rule that one field of a line breaks.
type fieldFault struct {
	label int32
	why   rejection.Reason
}

// head is what precedes a line's fields, parsed.
type head struct {
	raw     []byte
	source  int32
	tags    []pointblock.Tag // sorted
	refused rejection.Reason
	culprit string
}

// New creates a parser.
func New() *Parser {
	p := &Parser{}
	p.hooks = block.Hooks{Blame: blameLine, ListName: func() string { return "body" }, Line: p.lineAt}
	return p
}

// Reset forgets the request.
func (p *Parser) Reset() {
	clear(p.tags)
	*p = Parser{hooks: p.hooks, tags: p.tags[:0], faults: p.faults[:0]}
}

// lineAt returns the number of the line that begins at an index of the body.
func (p *Parser) lineAt(i int) int { return 1 + bytes.Count(p.b[:i], []byte{'\n'}) }

// byteOrderMark may begin a file, and is nothing of its first line.
var byteOrderMark = []byte("\ufeff")

// Parse reads the batch's body, with timestamps of the precision: one of precisions,
// nanoseconds if it is empty. The error is one of the whole request; what
// is wrong with single lines and points is in the batch's tally.
func (p *Parser) Parse(b *block.Batch, precision string, maxPoints int) error {
	b.Hooks = p.hooks
	unit, ok := UnitOf(precision)
	if !ok {
		return fault.Field(fault.Malformed, "precision", "is not one of the allowed values", precisions...)
	}
	p.batch, p.b, p.maxPoints, p.unit = b, b.Body, maxPoints, unit
	b.Rows = true // lines are rows to all that follows
	i := 0
	if bytes.HasPrefix(p.b, byteOrderMark) {
		i = len(byteOrderMark)
	}
	for i < len(p.b) {
		i = p.line(i)
		if b.Points > maxPoints {
			// TooLarge, which tells clients of this protocol to send less at a time.
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
		if i = blanks(p.b, i); i == len(p.b) || p.b[i] == '\n' || p.b[i] == '#' {
			return afterLine(p.b, i)
		}
		if next, ends := lineEnds(p.b, i); ends {
			return next
		}
		raw = p.b[i:scanHead(p.b, i)]
	}
	p.start = i
	end := p.fields(raw, blanks(p.b, i+len(raw)))
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

// expectedHead returns the head at b[i], if it is that of the label that followed
// the last one the last time.
func (p *Parser) expectedHead(i int) []byte {
	expected := p.batch.Labels.Expected()
	if expected == nil {
		return nil
	}
	raw := expected.Tokens.Tags
	// What follows a head is a space that no backslash precedes, so it ends here.
	if end := i + len(raw); end < len(p.b) && p.b[end] == ' ' && string(p.b[i:end]) == string(raw) {
		return raw
	}
	return nil
}

// fields reads the fields that begin at b[i] and returns where they end, or failed.
// Their values wait in the columns for the time, which is at the line's end.
func (p *Parser) fields(raw []byte, i int) int {
	for n := 0; ; n++ {
		if n > p.maxPoints { // of one line: it need not be read to its end
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

// field reads the key at b[i]: the label of its points, and where its value
// begins.
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
		if atLineEnd(p.b, i) && i == blanks(p.b, p.start+len(raw)) {
			why = rejection.LineNoField
		}
		return 0, p.fail(why)
	case end == i:
		return 0, p.fail(rejection.LineField)
	}
	t := block.Tokens{Tags: raw, Metric: p.b[i:end]}
	hash := p.hashOf(&t)
	if label = labels.FindHashed(&t, hash); label < 0 {
		if label = p.newLabel(t, hash); label < 0 {
			return 0, scan.Failed
		}
	}
	labels.Follow(label)
	return label, end + 1
}

// hashOf hashes the tokens of a field. All fields of a line have the head in common.
func (p *Parser) hashOf(t *block.Tokens) uint64 {
	seed := p.batch.Labels.Seed
	if len(p.hashed) != len(t.Tags) || &p.hashed[0] != &t.Tags[0] {
		p.hashed, p.hash = t.Tags, maphash.Bytes(seed, t.Tags)
	}
	return p.hash*0x9e3779b97f4a7c15 ^ maphash.Bytes(seed, t.Metric)
}

// commit sets the time of the line's points, or counts them as rejected.
func (p *Parser) commit(us int64, why rejection.Reason) {
	b := p.batch
	for _, m := range p.faults {
		b.Points++
		b.Reject(m.why, p.start, rejection.Whole, 1, &b.Labels.List[m.label])
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
	for _, at := range c.Label[from:] {
		l := &b.Labels.List[at]
		if why != rejection.None {
			b.Reject(why, p.start, rejection.Whole, 1, l)
			continue
		}
		if l.Count[kind-1] == 0 {
			l.First[kind-1] = p.start
		}
		l.Count[kind-1]++
		c.Times = append(c.Times, us)
		c.Index = append(c.Index, int32(p.start))
	}
	if why != rejection.None {
		c.Label, c.Values = c.Label[:from], c.Values[:from]
	}
}

// fail notes why the line cannot be read.
func (p *Parser) fail(why rejection.Reason) int {
	p.why = why
	return scan.Failed
}

// reject removes the points of a line that cannot be read, counts it as one
// that is rejected, and returns where the next line begins.
func (p *Parser) reject() (next int) {
	b := p.batch
	n, s := len(b.Numbers.Times), len(b.Strings.Times)
	b.Numbers.Label, b.Numbers.Values = b.Numbers.Label[:n], b.Numbers.Values[:n]
	clear(b.Strings.Values[s:])
	b.Strings.Label, b.Strings.Values = b.Strings.Label[:s], b.Strings.Values[:s]
	p.faults = p.faults[:0]
	b.Points++
	if field := b.Rejected.Add(p.why, p.start, rejection.Whole, 1); field != nil {
		*field = p.blame()
	}
	p.culprit = ""
	return skipLine(p.b, p.start)
}
