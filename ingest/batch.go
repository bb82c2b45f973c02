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
	hooks      hooks
	body       []byte
	workspace  uuid.UUID
	receivedUS int64 // microseconds since the Unix epoch
	latestUS   int64 // the last time that is accepted

	rows     bool // the points came as rows: the columns say the label of each; else the runs say it
	points   int  // sent, accepted or not
	rejected tally

	labels  labelSet
	sources sourceSet
	route   int64 // number of the route by which the sources have their partitions

	numbers column[float64]
	strings column[string]
	runs    []run   // the columns' parts when they came as columns
	oldest  []int64 // by source, the first time at which its points are kept

	unescaped []byte // texts that are not in the body as they are
	output    output
}

// hooks are what a batch asks of the parser of its format. None is called for a point
// that is accepted.
type hooks struct {
	// blame returns the path of the field whose value breaks a rule.
	blame func(why reason, index, position int, l *label) string
	// listName returns the name of what contains the points, for an error about all of them.
	listName func() string
	// line returns the number of the line, from 1, that an index of a rejection means. It is
	// nil in formats that have no lines.
	line func(index int) int
	// read reads a label whose series was known and is not any more. It is nil in formats
	// whose labels are always read.
	read func(l *label)
	// resolved is called with the series of each label that was read. It may be nil.
	resolved func(l *label, ref pointblock.SeriesRef, identity *pointblock.Identity)
}

// maxAhead is how far a point's time may be ahead of the server's clock.
const maxAhead = 24 * time.Hour

func newBatch() *batch {
	b := &batch{}
	b.labels.seed = maphash.MakeSeed()
	return b
}

// begin prepares the batch for a request.
func (b *batch) begin(workspace uuid.UUID, receivedAt time.Time, body []byte) {
	b.workspace, b.body = workspace, body
	b.receivedUS = receivedAt.UnixMicro()
	b.latestUS = b.receivedUS + maxAhead.Microseconds()
}

// end forgets the request.
func (b *batch) end() {
	b.hooks, b.body, b.rows, b.points, b.rejected = hooks{}, nil, false, 0, tally{}
	b.labels.reset()
	b.sources.reset()
	b.numbers.reset()
	clear(b.strings.values) // they are views into the body
	b.strings.reset()
	b.runs = b.runs[:0]
	b.unescaped = b.unescaped[:0]
	b.output.reset()
}

// size estimates the bytes that the batch holds on to.
func (b *batch) size() int {
	return cap(b.numbers.ts)*24 + cap(b.strings.ts)*32 + cap(b.runs)*48 + cap(b.unescaped) + b.labels.size() +
		b.output.size()
}

// need estimates the bytes that the parsed request takes, with those of its records.
func (b *batch) need() int64 {
	const point, text, ofRun, ofLabel = 24 + 16 + 16, 32 + 24 + 16, 48, labelBytes + 144
	return int64(len(b.numbers.ts)*point + len(b.strings.ts)*text + len(b.runs)*ofRun + len(b.unescaped) +
		len(b.labels.list)*ofLabel + len(b.labels.tags)*tagBytes)
}

// checkTime returns the rule that a time breaks.
func (b *batch) checkTime(us int64) reason {
	switch {
	case us < 0:
		return timeEarly
	case us > b.latestUS:
		return timeLate
	}
	return accepted
}

// reject counts points as rejected and, if they are the first for their reason,
// names the field that is to blame.
func (b *batch) reject(why reason, index, position, n int, l *label) {
	if field := b.rejected.add(why, index, position, n); field != nil {
		*field = b.hooks.blame(why, index, position, l)
	}
}

// rejections lists the points that were rejected, in formats that have lines by these.
func (b *batch) rejections() []Rejection {
	list := b.rejected.list()
	if b.hooks.line == nil {
		return list
	}
	for i := range list {
		line := b.hooks.line(list[i].Index)
		list[i].Index, list[i].Line = line-1, &line
	}
	return list
}
