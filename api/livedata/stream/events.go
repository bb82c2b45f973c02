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

// send sends deliveries in their order, as events of points and of deletions. It combines
// small deliveries into one event and splits large ones. Only the event that completes a
// delivery has an id, so a reader that reconnects receives complete deliveries.
func (s *stream) send(ctx context.Context, list []tail.Delivery) error {
	e := pointsEvent{stream: s}
	for i := range list {
		d := &list[i]
		for _, block := range d.Blocks {
			if err := e.add(ctx, block); err != nil {
				return err
			}
		}
		s.source.MarkSent(d)
		if len(d.Deletions) == 0 && i+1 < len(list) && len(list[i+1].Deletions) == 0 {
			continue // the next delivery may be added to the same event
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

// pointsEvent is an event of points that is being built.
type pointsEvent struct {
	*stream
	data   []byte // JSON, without the enclosing brackets
	points int
}

// add adds the points of a block, and emits events that are full.
func (e *pointsEvent) add(ctx context.Context, block *tail.Block) error {
	head, err := encodeHead(block.Series)
	if err != nil {
		return err
	}
	column := timeseries.Column{Numbers: block.Numbers, Strings: block.Strings}
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

// encodeHead returns the JSON of a series as in a query's answer, without its points.
func encodeHead(series *tail.Series) ([]byte, error) {
	kind := pointblock.KindNumber
	if series.IsString {
		kind = pointblock.KindString
	}
	return json.Marshal(value.GroupHead{
		SourceID: &series.Source, SourceName: &series.SourceName, Metric: &series.Metric, Kind: value.KindName(kind),
		Unit: series.Unit,
		Tags: series.Tags, Columns: rawColumns,
	}, json.Deterministic(true))
}

// rawColumns are the columns of raw points.
var rawColumns = []string{"timestamp", "value"}

// emit ends the event.
func (e *pointsEvent) emit(ctx context.Context, id string) error {
	switch {
	case len(e.data) > 0:
		e.out.EventWithID("points", id, append(append([]byte{'['}, e.data...), ']'))
		e.Streams.CountSent(e.points)
	case id != "":
		e.out.ID(id) // the delivery was completed by a full event
	}
	e.data, e.points = e.data[:0], 0
	if e.out.Buffered() < eventBytes {
		return nil
	}
	return e.flush(ctx)
}

// flush sends the buffered events, unless the stream must end.
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
	s.out.EventWithID(name, id, line)
	return nil
}

// deletion is the event of deleted points.
type deletion struct {
	SourceID    uuid.UUID      `json:"sourceId"`
	SourceName  *string        `json:"sourceName"`
	Metric      *string        `json:"metric"`
	From        jsontext.Value `json:"from"`
	To          jsontext.Value `json:"to"`
	WholeSource bool           `json:"wholeSource"`
}

// deletions adds the deletions of a delivery; the last one has the id.
func (s *stream) deletions(d *tail.Delivery) error {
	for i := range d.Deletions {
		deleted, id := &d.Deletions[i], ""
		if i == len(d.Deletions)-1 {
			id = s.id()
		}
		out := deletion{
			SourceID: deleted.Source, Metric: deleted.Metric, WholeSource: deleted.WholeSource,
			From: s.encodeTime(deleted.FromUS),
			To:   s.encodeTime(deleted.ToUS),
		}
		if deleted.SourceName != "" {
			out.SourceName = &deleted.SourceName
		}
		if err := s.event("deleted", id, out); err != nil {
			return err
		}
	}
	return nil
}

// encodeTime encodes a time in the format of the points; nil is null.
func (s *stream) encodeTime(us *int64) jsontext.Value {
	if us == nil {
		return jsontext.Value("null")
	}
	var clock value.Clock
	return clock.AppendTimestamp(nil, *us, s.epoch)
}

// notice is the event that informs a reader of missing points.
type notice struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"` // points received before this time are not missing
}

// reasons describes what happened, and how the reader can continue.
var reasons = map[string]string{
	tail.SlowReader: "Points arrive faster than this reader reads them. Reconnect with Last-Event-ID to resume, or " +
		"query with from.",
	tail.LogChanged:   "The log was recreated or has more partitions: query the missed points with from.",
	tail.Trimmed:      "The log no longer contains the missed points: query them with from. New points follow.",
	tail.TooFarBehind: "Too many points were missed to be sent again: query them with from. New points follow.",
}

// sendNotice adds a notice to the buffer.
func (s *stream) sendNotice(event, reason string) {
	since := time.UnixMicro(s.source.Position().SinceUS).UTC()
	// strings and a time: it cannot fail
	data, _ := json.Marshal(notice{Reason: reason, Message: reasons[reason], Since: since})
	s.out.EventWithID(event, s.id(), data)
}
