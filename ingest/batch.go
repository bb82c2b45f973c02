package ingest

import (
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// batch is one request on its way from bytes to records: what the parser found
// in it, and what became of that. It is kept and used again, so its columns do
// not grow anew for each request.
//
// Strings in it are views into the request's body or into texts below; see view.
type batch struct {
	format     Format
	body       []byte
	precision  string
	workspace  uuid.UUID
	receivedUS int64 // microseconds since the Unix epoch
	latestUS   int64 // the last time that is accepted

	list     field // points or series: the shape in which the points came
	points   int   // sent, accepted or not
	rejected tally

	labels  labelSet
	sources sourceSet
	route   int64 // number of the route by which the sources have their partitions

	numbers column[float64]
	strings column[string]
	blocks  []block // the columns' parts when they came as columns
	oldest  []int64 // by source, the first time at which its points are kept

	prom       *promCache
	promHits   int // labels of Prometheus that were in it
	promMisses int

	unescaped []byte // texts that are not in the body as they are
	json      parser
	lines     lineParser
	output    output
}

// column holds the accepted points of one kind, in the order in which they came.
// A point's label is given where points came as rows; where they came as
// columns, blocks say it.
type column[V any] struct {
	label  []int32
	ts     []int64 // microseconds since the Unix epoch
	values []V
	index  []int32 // of rows, where each is in the request
}

func (c *column[V]) reset() {
	c.label, c.ts, c.values, c.index = c.label[:0], c.ts[:0], c.values[:0], c.index[:0]
}

// block is a part of a column that belongs to one label.
type block struct {
	label    int32
	kind     pointblock.Kind
	from, to int
	next     int32 // the next block of the same series, plus one
	index    int   // of its object in the request
	sifted   bool  // not all of the object's points are in it
}

// What is kept for the next requests.
const (
	// keptBytes is how large a batch may be to be kept.
	keptBytes = 64 << 20
	// sparesBytes is how much memory those that wait may hold together, and sparesTime
	// how long they are kept when no request comes.
	sparesBytes = 160 << 20
	sparesTime  = 30 * time.Second
)

func newBatch(prom *promCache) *batch {
	b := &batch{prom: prom}
	b.labels.seed = maphash.MakeSeed()
	return b
}

// begin readies the batch for a request.
func (b *batch) begin(format Format, req *Request) {
	b.format, b.body, b.precision, b.workspace = format, req.Body, req.Precision, req.Workspace
	b.receivedUS = req.ReceivedAt.UnixMicro()
	b.latestUS = b.receivedUS + dayUS
}

// end forgets the request.
func (b *batch) end() {
	b.body, b.list, b.points, b.rejected = nil, unknownField, 0, tally{}
	b.labels.reset()
	b.sources.reset()
	b.numbers.reset()
	clear(b.strings.values) // they are views into the body
	b.strings.reset()
	b.blocks = b.blocks[:0]
	b.promHits, b.promMisses = 0, 0
	b.unescaped = b.unescaped[:0]
	b.json.reset()
	b.lines.reset()
	b.output.reset()
}

// size estimates the bytes that the batch holds on to.
func (b *batch) size() int {
	return cap(b.numbers.ts)*24 + cap(b.strings.ts)*32 + cap(b.blocks)*48 + cap(b.unescaped) + b.labels.size() +
		b.output.size()
}

// need estimates the bytes that the parsed request takes, with those of its records.
func (b *batch) need() int64 {
	const point, text, ofBlock, ofLabel = 24 + 16 + 16, 32 + 24 + 16, 48, labelBytes + 144
	return int64(len(b.numbers.ts)*point + len(b.strings.ts)*text + len(b.blocks)*ofBlock + len(b.unescaped) +
		len(b.labels.list)*ofLabel + len(b.labels.tags)*tagBytes)
}

// unescape returns the text of a string token, its quotes included.
func (b *batch) unescape(token []byte, escaped bool) string {
	inner := token[1 : len(token)-1]
	if !escaped {
		return view(inner)
	}
	from := len(b.unescaped)
	b.unescaped = appendUnescaped(b.unescaped, inner)
	return view(b.unescaped[from:])
}
