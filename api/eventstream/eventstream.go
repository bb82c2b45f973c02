// Package eventstream writes Server-Sent Events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). It keeps long-lived
// responses open and closes the connections of readers that do not read. The caller defines
// the events.
package eventstream

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/livegraph/livegraph/api/reply"
)

// ContentType is the content type of a stream.
const ContentType = "text/event-stream"

// Heartbeat is the interval of heartbeats.
const Heartbeat = 15 * time.Second

// Accepted reports whether a request to a route that can also respond with JSON prefers a stream.
func Accepted(h http.Header) bool {
	const events = "events"
	return reply.Negotiate(h, "json", map[string]string{"json": "application/json", events: ContentType}) == events
}

// Writer writes a stream. It must not be used by several goroutines at once, except for Cut.
type Writer struct {
	w           http.ResponseWriter
	controller  *http.ResponseController
	waitTimeout time.Duration
	buffer      []byte

	mu       sync.Mutex // guards the write deadline and the fields below
	flushing bool
	cut      bool
}

// Open begins a stream. It sends status 200 and removes the server's timeouts for the request
// and its response. waitTimeout is the timeout of a Flush; after it the connection is closed,
// because nothing is buffered for readers that do not read.
func Open(w http.ResponseWriter, waitTimeout time.Duration) (*Writer, error) {
	s := &Writer{w: w, controller: http.NewResponseController(w), waitTimeout: waitTimeout}
	// The read deadline applies not only to the body, but also to detecting whether the
	// client is still connected.
	if err := s.controller.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("opening a stream: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // else nginx buffers the events
	w.WriteHeader(http.StatusOK)
	return s, nil
}

// Event adds an event. data must be one line. An event with id 0 has no id.
func (s *Writer) Event(name string, id int64, data []byte) {
	text := ""
	if id != 0 {
		text = strconv.FormatInt(id, 10)
	}
	s.EventWithID(name, text, data)
}

// EventWithID adds an event with a string id, which must be one line; empty: no id.
func (s *Writer) EventWithID(name, id string, data []byte) {
	if id != "" {
		s.buffer = append(append(append(s.buffer, "id: "...), id...), '\n')
	}
	s.buffer = append(append(append(s.buffer, "event: "...), name...), "\ndata: "...)
	s.buffer = append(append(s.buffer, data...), "\n\n"...)
}

// ID adds an id without an event: a reader that reconnects resumes there.
func (s *Writer) ID(id string) {
	s.buffer = append(append(append(s.buffer, "id: "...), id...), "\n\n"...)
}

// Comment adds a line that readers ignore, such as a heartbeat.
func (s *Writer) Comment(text string) {
	s.buffer = append(append(append(s.buffer, ": "...), text...), "\n\n"...)
}

// Buffered returns how many bytes wait for Flush.
func (s *Writer) Buffered() int { return len(s.buffer) }

// Flush sends what was added. An error means that the reader has disconnected or is too slow,
// or that the stream was cut.
func (s *Writer) Flush() error {
	if err := s.beginWrite(); err != nil {
		return err
	}
	_, err := s.w.Write(s.buffer)
	if cap(s.buffer) > maxKeptBuffer {
		s.buffer = nil
	}
	s.buffer = s.buffer[:0]
	if err == nil {
		err = s.controller.Flush()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushing = false
	return err
}

// beginWrite sets the write deadline of a Flush.
func (s *Writer) beginWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		return errCut
	}
	s.flushing = true
	return s.controller.SetWriteDeadline(time.Now().Add(s.waitTimeout))
}

var errCut = errors.New("the stream was cut")

// Cut makes each further Flush fail. It aborts a running Flush, which waits for the reader,
// together with the connection. It may be called from another goroutine.
func (s *Writer) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	if s.flushing {
		_ = s.controller.SetWriteDeadline(time.Now()) // an error means that the connection is closed
	}
}

// maxKeptBuffer is the maximum capacity of a buffer that is reused for the next events.
const maxKeptBuffer = 64 << 10
