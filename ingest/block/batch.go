package block

import (
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Batch is the state of one request between its body and its records: the parsed points, the rejected points and the
// encoded messages. It is reused, so that its columns do not grow again for each request.
//
// Its strings are views into the request's body or into Unescaped; see scan.View.
type Batch struct {
	Hooks      Hooks
	Body       []byte
	Workspace  uuid.UUID
	ReceivedUS int64 // microseconds since the Unix epoch
	LatestUS   int64 // the latest timestamp that is accepted

	Rows     bool // the points came as rows: the columns have the label of each point; otherwise the runs have it
	Points   int  // number of points in the request, accepted or not
	Rejected rejection.Tally

	Labels  labelSet
	Sources sourceSet
	Route   int64 // number of the route that assigns partitions to sources

	Numbers Column[float64]
	Strings Column[string]
	Texts   pointblock.Kind // the kind of Strings
	runs    []run           // runs of the columns, for points that came as columns
	Oldest  []int64         // by source, the oldest timestamp within its retention

	Exemplars Exemplars                 // of series, beside points
	Metadata  []metricmetadata.Metadata // what the request says of metrics, beside points; see package described

	Unescaped []byte // strings that are not contiguous in the body, such as those with escapes
	Output    output
	encoded   []byte // buffer for the identity of a series
}

// Hooks are the functions of a format's parser that a batch calls. None is called per accepted point.
type Hooks struct {
	// FieldPath returns the path of the field whose value breaks a rule.
	FieldPath func(why rejection.Reason, index, position int, l *Label) string
	// ListName returns the name of the field that contains the points, for an error about all of them.
	ListName func() string
	// Line returns the line number, from 1, of the index of a rejection. It is nil in formats
	// without lines.
	Line func(index int) int
	// Read parses a label that was found in the cache. It is nil in formats whose labels are
	// always parsed.
	Read func(l *Label)
	// Resolved is called with the series of each label that was parsed. It may be nil.
	Resolved func(l *Label, ref pointblock.SeriesRef, identity *pointblock.Identity)
	// SourceTags returns the tags of a source that is created with this name. It is nil if they
	// have none.
	SourceTags func(name string) map[string]string
}

// maxAhead is how far a point's time may be ahead of the server's clock.
const maxAhead = 24 * time.Hour

// NewBatch creates an empty batch whose parsers use the cache.
func NewBatch(cache *LabelCache) *Batch {
	b := &Batch{}
	b.Labels.Seed, b.Sources.seed = cache.seed, cache.seed
	return b
}

// Begin prepares the batch for a request.
func (b *Batch) Begin(workspace uuid.UUID, receivedAt time.Time, body []byte) {
	b.Workspace, b.Body, b.Texts = workspace, body, pointblock.KindString
	b.ReceivedUS = receivedAt.UnixMicro()
	b.LatestUS = b.ReceivedUS + maxAhead.Microseconds()
}

// End removes all references to the request and empties the batch.
func (b *Batch) End() {
	b.Hooks, b.Body, b.Rows, b.Points, b.Rejected = Hooks{}, nil, false, 0, rejection.Tally{}
	b.Labels.reset()
	b.Sources.reset()
	b.Numbers.reset()
	clear(b.Strings.Values) // they are views into the body
	b.Strings.reset()
	b.runs = b.runs[:0]
	b.Unescaped = b.Unescaped[:0]
	clear(b.Metadata)
	b.Metadata = b.Metadata[:0]
	b.Exemplars.reset()
	b.Output.reset()
}

// Size estimates the memory of the batch's buffers, in bytes.
func (b *Batch) Size() int {
	return cap(b.Numbers.Times)*24 + cap(b.Strings.Times)*32 + cap(b.runs)*24 + cap(b.Unescaped) + cap(b.Metadata)*64 +
		cap(b.Exemplars.list)*exemplarBytes +
		b.Labels.size() + b.Output.size()
}

// Need estimates the memory of the parsed request and its records, in bytes.
func (b *Batch) Need() int64 {
	const pointBytes, stringBytes, runBytes, labelNeed = 24 + 16 + 16, 32 + 24 + 16, 24, labelBytes + 144
	return int64(len(b.Numbers.Times)*pointBytes + len(b.Strings.Times)*stringBytes + len(b.runs)*runBytes +
		len(b.Unescaped) + b.Exemplars.Len()*exemplarBytes + b.Exemplars.bytes +
		len(b.Labels.List)*labelNeed + len(b.Labels.tags)*tagBytes)
}

// CheckTime returns the rule that a timestamp breaks, or None.
func (b *Batch) CheckTime(us int64) rejection.Reason {
	switch {
	case us < 0:
		return rejection.TimeEarly
	case us > b.LatestUS:
		return rejection.TimeLate
	}
	return rejection.None
}

// Reject counts n points as rejected. If they are the first for their reason, it records the path of the invalid
// field.
func (b *Batch) Reject(why rejection.Reason, index, position, n int, l *Label) {
	if field := b.Rejected.Add(why, index, position, n); field != nil {
		b.read(l)
		*field = b.Hooks.FieldPath(why, index, position, l)
	}
}

// Rejections returns the rejected points by reason. In formats that have lines, it sets their line numbers.
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
