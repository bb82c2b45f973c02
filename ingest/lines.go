package ingest

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// lineParser reads the line protocol of InfluxDB into a batch, in one pass over
// the bytes. A line is
//
//	measurement[,tag=value…] field=value[,field=value…] [timestamp]
//
// and each of its fields a point of the source that the measurement names. The
// label of a point has as its tokens what stands before the fields, and the
// field's key: so a series that came before costs a comparison, not a reading.
//
// A line that cannot be read is rejected alone, as one point; the next line is
// then what follows the first line end outside of its strings.
type lineParser struct {
	hooks     hooks
	batch     *batch
	b         []byte // the body
	maxPoints int
	unit      unit

	start   int    // where the line begins
	why     reason // it cannot be read
	culprit string // the field or tag that is to blame

	hashed  []byte // the head whose hash is known
	hash    uint64
	stamp   []byte // the last timestamp, and what it came to
	stampUS int64
	head    head
	mishaps []lineMishap     // fields of the line that break a rule
	tags    []pointblock.Tag // of the head that is being read
}

// lineMishap is a rule that one field of a line breaks.
type lineMishap struct {
	label int32
	why   reason
}

// head is what stands before a line's fields, read.
type head struct {
	raw     []byte
	source  int32
	tags    []pointblock.Tag // sorted
	refused reason
	culprit string
}

func newLineParser() *lineParser {
	p := &lineParser{}
	p.hooks = hooks{blame: blameLine, listName: func() string { return "body" }, line: p.lineAt}
	return p
}

// reset forgets the request.
func (p *lineParser) reset() {
	clear(p.tags)
	*p = lineParser{hooks: p.hooks, tags: p.tags[:0], mishaps: p.mishaps[:0]}
}

// lineAt returns the number of the line that begins at an index of the body.
func (p *lineParser) lineAt(i int) int { return 1 + bytes.Count(p.b[:i], []byte{'\n'}) }

// byteOrderMark may begin a file, and is nothing of its first line.
var byteOrderMark = []byte("\ufeff")

// parse reads the batch's body, with timestamps of the precision: one of linePrecisions,
// nanoseconds if it is empty. The error is one of the whole request; what
// is wrong with single lines and points is in the batch's tally.
func (p *lineParser) parse(b *batch, precision string, maxPoints int) error {
	b.hooks = p.hooks
	unit, ok := lineUnitOf(precision)
	if !ok {
		return fault.Field(fault.Malformed, "precision", "is not one of the allowed values", linePrecisions...)
	}
	p.batch, p.b, p.maxPoints, p.unit = b, b.body, maxPoints, unit
	b.rows = true // lines are rows to all that follows
	i := 0
	if bytes.HasPrefix(p.b, byteOrderMark) {
		i = len(byteOrderMark)
	}
	for i < len(p.b) {
		i = p.line(i)
		if b.points > maxPoints {
			// TooLarge, which tells clients of this protocol to send less at a time.
			return fault.Field(fault.TooLarge, "body", fmt.Sprintf(
				"must hold at most %d points in one request", maxPoints,
			)).With("limit", maxPoints)
		}
	}
	return nil
}

// line reads the line at b[i] and gives where the next one begins.
func (p *lineParser) line(i int) (next int) {
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
	if end == failed {
		return p.reject()
	}
	us, next, why := p.time(end)
	if next == failed {
		return p.reject()
	}
	p.commit(us, why)
	return next
}

// expectedHead returns the head at b[i], if it is that of the label that followed
// the last one the last time.
func (p *lineParser) expectedHead(i int) []byte {
	expected := p.batch.labels.expected()
	if expected == nil {
		return nil
	}
	raw := expected.tokens.tags
	// What follows a head is a space that no backslash precedes, so it ends here.
	if end := i + len(raw); end < len(p.b) && p.b[end] == ' ' && string(p.b[i:end]) == string(raw) {
		return raw
	}
	return nil
}

// fields reads the fields that begin at b[i] and gives where they end, or failed.
// Their values wait in the columns for the time, which stands at the line's end.
func (p *lineParser) fields(raw []byte, i int) int {
	for n := 0; ; n++ {
		if n > p.maxPoints { // of one line: it need not be read to its end
			p.batch.points += n
			return p.fail(lineField)
		}
		label, value := p.field(raw, i)
		if value == failed {
			return failed
		}
		if i = p.value(label, value); i == failed {
			return failed
		}
		if i == len(p.b) || p.b[i] != ',' {
			return i
		}
		i++
	}
}

// field reads the key at b[i]: the label of its points, and where its value
// begins.
func (p *lineParser) field(raw []byte, i int) (label int32, value int) {
	labels := &p.batch.labels
	if expected := labels.expected(); expected != nil && string(expected.tokens.tags) == string(raw) {
		key := expected.tokens.metric
		if end := i + len(key); end < len(p.b) && p.b[end] == '=' && string(p.b[i:end]) == string(key) {
			labels.last = labels.list[labels.last].next
			return labels.last, end + 1
		}
	}
	end := scanEscaped(p.b, i, inKey)
	switch {
	case end == len(p.b) || p.b[end] != '=':
		why := lineField
		if atLineEnd(p.b, i) && i == blanks(p.b, p.start+len(raw)) {
			why = lineNoField
		}
		return 0, p.fail(why)
	case end == i:
		return 0, p.fail(lineField)
	}
	t := tokens{tags: raw, metric: p.b[i:end]}
	hash := p.hashOf(&t)
	if label = labels.findHashed(&t, hash); label < 0 {
		if label = p.newLabel(t, hash); label < 0 {
			return 0, failed
		}
	}
	labels.follow(label)
	return label, end + 1
}

// hashOf hashes the tokens of a field. All fields of a line have the head in common.
func (p *lineParser) hashOf(t *tokens) uint64 {
	seed := p.batch.labels.seed
	if len(p.hashed) != len(t.tags) || &p.hashed[0] != &t.tags[0] {
		p.hashed, p.hash = t.tags, maphash.Bytes(seed, t.tags)
	}
	return p.hash*0x9e3779b97f4a7c15 ^ maphash.Bytes(seed, t.metric)
}

// commit sets the time of the line's points, or counts them as rejected.
func (p *lineParser) commit(us int64, why reason) {
	b := p.batch
	for _, m := range p.mishaps {
		b.points++
		b.reject(m.why, p.start, whole, 1, &b.labels.list[m.label])
	}
	p.mishaps = p.mishaps[:0]
	commit(p, &b.numbers, pointblock.KindNumber, us, why)
	if len(b.strings.label) > len(b.strings.ts) {
		commit(p, &b.strings, pointblock.KindString, us, why)
	}
}

func commit[V any](p *lineParser, c *column[V], kind pointblock.Kind, us int64, why reason) {
	b := p.batch
	from := len(c.ts)
	b.points += len(c.label) - from
	for _, at := range c.label[from:] {
		l := &b.labels.list[at]
		if why != accepted {
			b.reject(why, p.start, whole, 1, l)
			continue
		}
		if l.count[kind-1] == 0 {
			l.first[kind-1] = p.start
		}
		l.count[kind-1]++
		c.ts = append(c.ts, us)
		c.index = append(c.index, int32(p.start))
	}
	if why != accepted {
		c.label, c.values = c.label[:from], c.values[:from]
	}
}

// fail notes why the line cannot be read.
func (p *lineParser) fail(why reason) int {
	p.why = why
	return failed
}

// reject takes back the points of a line that cannot be read, counts it as one
// that is rejected, and gives where the next line begins.
func (p *lineParser) reject() (next int) {
	b := p.batch
	n, s := len(b.numbers.ts), len(b.strings.ts)
	b.numbers.label, b.numbers.values = b.numbers.label[:n], b.numbers.values[:n]
	clear(b.strings.values[s:])
	b.strings.label, b.strings.values = b.strings.label[:s], b.strings.values[:s]
	p.mishaps = p.mishaps[:0]
	b.points++
	if field := b.rejected.add(p.why, p.start, whole, 1); field != nil {
		*field = p.blame()
	}
	p.culprit = ""
	return skipLine(p.b, p.start)
}
