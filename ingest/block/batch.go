package block

import (
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Batch is one request on its way from bytes to records: what the parser found
// in it, and what became of that. It is kept and used again, so its columns do
// not grow again for each request.
//
// Strings in it are views into the request's body or into texts below; see scan.View.
type Batch struct {
	Hooks      Hooks
	Body       []byte
	Workspace  uuid.UUID
	ReceivedUS int64 // microseconds since the Unix epoch
	LatestUS   int64 // the last time that is accepted

	Rows     bool // the points came as rows: the columns say the label of each; else the runs say it
	Points   int  // sent, accepted or not
	Rejected rejection.Tally

	Labels  labelSet
	Sources sourceSet
	Route   int64 // number of the route by which the sources have their partitions

	Numbers Column[float64]
	Strings Column[string]
	runs    []run   // the columns' parts when they came as columns
	Oldest  []int64 // by source, the first time at which its points are kept

	Unescaped []byte // texts that are not in the body as they are
	Output    output
}

// Hooks are what a batch asks of the parser of its format. None is called for a point
// that is accepted.
type Hooks struct {
	// Blame returns the path of the field whose value breaks a rule.
	Blame func(why rejection.Reason, index, position int, l *Label) string
	// ListName returns the name of what contains the points, for an error about all of them.
	ListName func() string
	// Line returns the number of the line, from 1, that an index of a rejection means. It is
	// nil in formats that have no lines.
	Line func(index int) int
	// Read reads a label whose series was known and is not any more. It is nil in formats
	// whose labels are always read.
	Read func(l *Label)
	// Resolved is called with the series of each label that was read. It may be nil.
	Resolved func(l *Label, ref pointblock.SeriesRef, identity *pointblock.Identity)
}

// maxAhead is how far a point's time may be ahead of the server's clock.
const maxAhead = 24 * time.Hour

// NewBatch creates an empty batch.
func NewBatch() *Batch {
	b := &Batch{}
	b.Labels.Seed = maphash.MakeSeed()
	return b
}

// Begin prepares the batch for a request.
func (b *Batch) Begin(workspace uuid.UUID, receivedAt time.Time, body []byte) {
	b.Workspace, b.Body = workspace, body
	b.ReceivedUS = receivedAt.UnixMicro()
	b.LatestUS = b.ReceivedUS + maxAhead.Microseconds()
}

// End forgets the request.
func (b *Batch) End() {
	b.Hooks, b.Body, b.Rows, b.Points, b.Rejected = Hooks{}, nil, false, 0, rejection.Tally{}
	b.Labels.reset()
	b.Sources.reset()
	b.Numbers.reset()
	clear(b.Strings.Values) // they are views into the body
	b.Strings.reset()
	b.runs = b.runs[:0]
	b.Unescaped = b.Unescaped[:0]
	b.Output.reset()
}

// Size estimates the memory that the batch keeps, in bytes.
func (b *Batch) Size() int {
	return cap(b.Numbers.Times)*24 + cap(b.Strings.Times)*32 + cap(b.runs)*48 + cap(b.Unescaped) + b.Labels.size() +
		b.Output.size()
}

// Need estimates the bytes that the parsed request takes, including its records.
func (b *Batch) Need() int64 {
	const point, text, ofRun, ofLabel = 24 + 16 + 16, 32 + 24 + 16, 48, labelBytes + 144
	return int64(len(b.Numbers.Times)*point + len(b.Strings.Times)*text + len(b.runs)*ofRun + len(b.Unescaped) +
		len(b.Labels.List)*ofLabel + len(b.Labels.tags)*tagBytes)
}

// CheckTime returns the rule that a time breaks.
func (b *Batch) CheckTime(us int64) rejection.Reason {
	switch {
	case us < 0:
		return rejection.TimeEarly
	case us > b.LatestUS:
		return rejection.TimeLate
	}
	return rejection.None
}

// Reject counts points as rejected and, if they are the first for their reason,
// names the field that is to blame.
func (b *Batch) Reject(why rejection.Reason, index, position, n int, l *Label) {
	if field := b.Rejected.Add(why, index, position, n); field != nil {
		*field = b.Hooks.Blame(why, index, position, l)
	}
}

// Rejections lists the points that were rejected, in formats that have lines by these.
func (b *Batch) Rejections() []rejection.Group {
	list := b.Rejected.List()
	if b.Hooks.Line == nil {
		return list
	}
	for i := range list {
		line := b.Hooks.Line(list[i].Index)
		list[i].Index, list[i].Line = line-1, &line
	}
	return list
}
