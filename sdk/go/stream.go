package livegraph

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"
)

// Event is an event of a stream.
type Event struct {
	// ID is the position in the stream, with which it can be resumed.
	ID string
	// Type is change or reset in streams of the graph, and points, deleted, reset or dropped in streams of points.
	Type string
	// Data is the content in JSON.
	Data json.RawMessage
}

// Change returns the content of an event of type change.
func (e *Event) Change() (*Change, error) { return eventData[*Change](e) }

// Points returns the content of an event of type points. A series can be in it more than once; the later entry
// applies.
func (e *Event) Points() ([]PointRows, error) { return eventData[[]PointRows](e) }

// Deleted returns the content of an event of type deleted.
func (e *Event) Deleted() (*DeletedPoints, error) { return eventData[*DeletedPoints](e) }

// Gap returns the content of an event of type reset or dropped.
func (e *Event) Gap() (*StreamGap, error) { return eventData[*StreamGap](e) }

// DeletedPoints are points that were deleted. A field that is zero does not restrict them.
type DeletedPoints struct {
	SourceID   string `json:"sourceId"`
	SourceName string `json:"sourceName"`
	Metric     string `json:"metric"`
	// From is inclusive, To exclusive.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// WholeSource reports whether the source itself was deleted.
	WholeSource bool `json:"wholeSource"`
}

// StreamGap is why events may be missing in a stream.
type StreamGap struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Since is set in streams of points: points that were received before this time are not missing.
	Since time.Time `json:"since"`
	// After and Newest are set in streams of the graph: the change after which events were requested, and the newest
	// one.
	After  int64 `json:"after"`
	Newest int64 `json:"newest"`
}

func eventData[T any](e *Event) (content T, err error) {
	if err := json.Unmarshal(e.Data, &content); err != nil {
		return content, &ResponseError{Message: "the data of the event " + e.Type + " cannot be read", Err: err}
	}
	return content, nil
}

// EventStream reads the events of a stream. If the connection breaks, or the server sends nothing for longer than the
// timeout of the client, it is opened again after the last event. Use it in one goroutine, except for LastID.
type EventStream struct {
	t       *transport
	request *Request

	mu     sync.Mutex
	lastID string
	opened *connection // opened by Open, and not read yet
}

func newEventStream(t *transport, request *Request, after string) *EventStream {
	return &EventStream{t: t, request: request, lastID: after}
}

// LastID returns the position after the last event, "" before the first. Store it to resume the stream.
func (s *EventStream) LastID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastID
}

func (s *EventStream) setLastID(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID = id
}

// Open opens the connection, so that no event is missed that occurs before Events is called with the same context.
// The connection is closed when the context ends, and at the end of the iteration. Without Open, Events opens it.
func (s *EventStream) Open(ctx context.Context) error {
	return s.open(ctx, newAttempts(s.t.retry, s.request))
}

func (s *EventStream) open(ctx context.Context, retries *attempts) error {
	for {
		connection, err := s.connect(ctx)
		if err == nil {
			s.close()
			s.opened = connection
			return nil
		}
		if err := retries.wait(ctx, err); err != nil {
			return err
		}
	}
}

// close closes the connection that was opened and not read.
func (s *EventStream) close() {
	if s.opened != nil {
		s.opened.close()
		s.opened = nil
	}
}

// Events iterates over the events, until the context ends or the loop is left. The iteration ends with an error if
// the stream fails permanently, or for longer than the total time of the client's retries. Another call of Events
// resumes the stream after the last event.
func (s *EventStream) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer s.close()
		retries := newAttempts(s.t.retry, s.request)
		for {
			if s.opened == nil {
				if err := s.open(ctx, retries); err != nil {
					yield(Event{}, err)
					return
				}
			}
			connection := s.opened
			s.opened = nil
			received, proceed, err := s.read(connection, yield)
			if !proceed {
				return
			}
			if received {
				retries = newAttempts(s.t.retry, s.request)
			}
			if err := retries.wait(ctx, err); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// read returns the events of a connection and closes it. It returns whether there were any bytes, whether to proceed
// with another connection, and why this one ended.
func (s *EventStream) read(c *connection, yield func(Event, error) bool) (received, proceed bool, err error) {
	defer c.close()
	parser := newParser(s.LastID())
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.read(buffer)
		received = received || n > 0
		left := false
		fits := parser.feed(buffer[:n], func(event Event) bool {
			s.setLastID(event.ID)
			left = !yield(event, nil)
			return !left
		})
		switch {
		case left:
			return received, false, nil
		case !fits:
			yield(Event{}, &ResponseError{Message: "an event of the stream is too long"})
			return received, false, nil
		}
		s.setLastID(parser.lastID)
		if err != nil {
			return received, true, newTransportError(s.request, err, true)
		}
	}
}

// connection is an open connection of a stream.
type connection struct {
	body    io.Reader
	timer   *time.Timer // ends a connection without heartbeats
	timeout time.Duration
	close   func()
}

// read reads bytes. The timer does not run while the events are processed.
func (c *connection) read(buffer []byte) (int, error) {
	c.timer.Reset(c.timeout)
	defer c.timer.Stop()
	return c.body.Read(buffer)
}

// connect makes one attempt.
func (s *EventStream) connect(ctx context.Context) (*connection, error) {
	request := *s.request
	request.Header = request.Header.Clone()
	request.set("Accept", "text/event-stream")
	if id := s.LastID(); id != "" {
		request.set("Last-Event-ID", id)
	}
	bounded, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(s.t.timeout, cancel)
	response, err := withKey(ctx, s.t, func(key string) (*http.Response, error) { //nolint:bodyclose // close does
		return s.t.open(bounded, &request, key)
	})
	if err != nil {
		timer.Stop()
		cancel()
		return nil, err
	}
	timer.Stop()
	return &connection{body: response.Body, timer: timer, timeout: s.t.timeout, close: func() {
		timer.Stop()
		cancel()
		_ = response.Body.Close()
	}}, nil
}
