package stream

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// send sends what was taken: events of points, small deliveries together and large
// ones in parts, and of deletions, in their order. Only an event that ends with a
// delivery has an id, so a reader that comes back gets a delivery as a whole.
func (s *stream) send(ctx context.Context, list []tail.Delivery) error {
	e := pointsEvent{stream: s}
	for i := range list {
		d := &list[i]
		for _, block := range d.Blocks {
			if err := e.add(ctx, block); err != nil {
				return err
			}
		}
		s.from.Passed(d)
		if len(d.Deletions) == 0 && i+1 < len(list) && len(list[i+1].Deletions) == 0 {
			continue // the next may go into the same event
		}
		if err := e.emit(ctx, s.id()); err != nil {
			return err
		}
		if err := s.deletions(d); err != nil {
			return err
		}
	}
	return s.flush(ctx)
}

// pointsEvent is an event of points that is being made.
type pointsEvent struct {
	*stream
	data   []byte // JSON, without the brackets around all of it
	points int
}

// add adds a block's points, and emits events that are full.
func (e *pointsEvent) add(ctx context.Context, block *tail.Block) error {
	head, err := headOf(block.Series)
	if err != nil {
		return err
	}
	column := timeseries.Column{Numbers: block.Numbers, Texts: block.Texts}
	var clock value.Clock
	for i := 0; i < len(block.TS); {
		if len(e.data) > 0 {
			e.data = append(e.data, ',')
		}
		e.data = append(append(e.data, head[:len(head)-1]...), `,"points":[`...) // without its brace
		for first := i; i < len(block.TS) && (i == first || len(e.data) < eventBytes); i++ {
			if i > first {
				e.data = append(e.data, ',')
			}
			e.data = clock.AppendTimestamp(append(e.data, '['), block.TS[i], e.epoch)
			e.data = append(value.AppendCell(append(e.data, ','), column, i), ']')
			e.points++
		}
		e.data = append(e.data, "]}"...)
		if len(e.data) >= eventBytes {
			if err := e.emit(ctx, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// headOf returns what a query's answer says of a series, without its points.
func headOf(series *tail.Series) ([]byte, error) {
	kind := pointblock.KindNumber
	if series.Text {
		kind = pointblock.KindString
	}
	return json.Marshal(value.GroupHead{
		SourceID: &series.Source, SourceName: &series.SourceName, Metric: &series.Metric, Kind: value.KindName(kind),
		Unit: series.Unit,
		Tags: series.Tags, Columns: rawColumns,
	}, json.Deterministic(true))
}

// rawColumns are those of points as they are.
var rawColumns = []string{"timestamp", "value"}

// emit ends the event.
func (e *pointsEvent) emit(ctx context.Context, id string) error {
	switch {
	case len(e.data) > 0:
		e.out.Named("points", id, append(append([]byte{'['}, e.data...), ']'))
		e.Streams.Sent(e.points)
	case id != "":
		e.out.ID(id) // what ended with a full event
	}
	e.data, e.points = e.data[:0], 0
	if e.out.Buffered() < eventBytes {
		return nil
	}
	return e.flush(ctx)
}

// flush sends what is written, unless the stream must end.
func (s *stream) flush(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.out.Buffered() == 0 {
		return nil
	}
	return s.out.Flush()
}

func (s *stream) event(name, id string, data any) error {
	line, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return err
	}
	s.out.Named(name, id, line)
	return nil
}

// deletion is what a reader is told of points that are gone.
type deletion struct {
	SourceID    uuid.UUID      `json:"sourceId"`
	SourceName  *string        `json:"sourceName"`
	Metric      *string        `json:"metric"`
	From        jsontext.Value `json:"from"`
	To          jsontext.Value `json:"to"`
	WholeSource bool           `json:"wholeSource"`
}

// deletions sends those of a delivery; the last has the id.
func (s *stream) deletions(d *tail.Delivery) error {
	for i := range d.Deletions {
		gone, id := &d.Deletions[i], ""
		if i == len(d.Deletions)-1 {
			id = s.id()
		}
		out := deletion{
			SourceID: gone.Source, Metric: gone.Metric, WholeSource: gone.Whole, From: s.stamp(gone.FromUS),
			To: s.stamp(gone.ToUS),
		}
		if gone.SourceName != "" {
			out.SourceName = &gone.SourceName
		}
		if err := s.event("deleted", id, out); err != nil {
			return err
		}
	}
	return nil
}

// stamp writes a time as those of the points; nil is null.
func (s *stream) stamp(us *int64) jsontext.Value {
	if us == nil {
		return jsontext.Value("null")
	}
	var clock value.Clock
	return clock.AppendTimestamp(nil, *us, s.epoch)
}

// notice tells a reader that points are or will be missing.
type notice struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"` // what was received before is not missing
}

// reasons say what happened, and how to go on.
var reasons = map[string]string{
	tail.SlowReader: "Points arrive faster than this reader takes them. Come back with Last-Event-ID to go on where it " +
		"was, or query with from.",
	tail.LogChanged:   "The log was made anew or has more partitions: what was missed is to be queried with from.",
	tail.Trimmed:      "The log does not have any more what was missed: query it with from. What is new follows.",
	tail.TooFarBehind: "Too much was missed to be sent again: query it with from. What is new follows.",
}

// say adds a notice.
func (s *stream) say(event, reason string) {
	since := time.UnixMicro(s.from.Position().SinceUS).UTC()
	// of texts and a time: it cannot fail
	data, _ := json.Marshal(notice{Reason: reason, Message: reasons[reason], Since: since})
	s.out.Named(event, s.id(), data)
}
