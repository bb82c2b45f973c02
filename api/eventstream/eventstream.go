// Package eventstream writes Server-Sent Events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). It knows how an
// answer that lasts is kept open and how one whose reader does not read is given up;
// what the events are is its caller's.
package eventstream

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// ContentType is that of a stream.
const ContentType = "text/event-stream"

// Writer writes a stream. It is not for several goroutines, except for Cut.
type Writer struct {
	w           http.ResponseWriter
	controller  *http.ResponseController
	waitTimeout time.Duration
	buffer      []byte

	mu       sync.Mutex // of the deadline
	flushing bool
	cut      bool
}

// Open begins a stream. From here on the answer is 200, and the server's limits of
// time for a request and its answer do not hold. waitTimeout is how long a reader may
// take for what is sent at once; beyond, the connection is cut: nothing is kept for
// who does not read.
func Open(w http.ResponseWriter, waitTimeout time.Duration) (*Writer, error) {
	s := &Writer{w: w, controller: http.NewResponseController(w), waitTimeout: waitTimeout}
	// Not only the request's body is read under this limit, but also whether the
	// client is still there.
	if err := s.controller.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("opening a stream: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would wait for more
	w.WriteHeader(http.StatusOK)
	return s, nil
}

// Event adds an event. data is one line. With id 0 it has no id.
func (s *Writer) Event(name string, id int64, data []byte) {
	text := ""
	if id != 0 {
		text = strconv.FormatInt(id, 10)
	}
	s.Named(name, text, data)
}

// Named adds an event whose id is a text of one line; empty: it has none.
func (s *Writer) Named(name, id string, data []byte) {
	if id != "" {
		s.buffer = append(append(append(s.buffer, "id: "...), id...), '\n')
	}
	s.buffer = append(append(append(s.buffer, "event: "...), name...), "\ndata: "...)
	s.buffer = append(append(s.buffer, data...), "\n\n"...)
}

// ID adds an id without an event: a reader that comes back begins there.
func (s *Writer) ID(id string) {
	s.buffer = append(append(append(s.buffer, "id: "...), id...), "\n\n"...)
}

// Comment adds a line that readers ignore: a sign of life.
func (s *Writer) Comment(text string) {
	s.buffer = append(append(append(s.buffer, ": "...), text...), "\n\n"...)
}

// Buffered is how many bytes wait for Flush.
func (s *Writer) Buffered() int { return len(s.buffer) }

// Flush sends what was added. An error means that the reader is gone or too slow.
func (s *Writer) Flush() error {
	if err := s.allow(); err != nil {
		return err
	}
	_, err := s.w.Write(s.buffer)
	if cap(s.buffer) > keptBuffer {
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

// allow begins the time that the reader has.
func (s *Writer) allow() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		return errCut
	}
	s.flushing = true
	return s.controller.SetWriteDeadline(time.Now().Add(s.waitTimeout))
}

var errCut = errors.New("the stream was cut")

// Cut makes each further Flush fail. One under way, which waits for the reader, is
// broken off and the connection with it. It may be called by another goroutine.
func (s *Writer) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	if s.flushing {
		_ = s.controller.SetWriteDeadline(time.Now()) // the connection is gone: so much the better
	}
}

// keptBuffer is how large a buffer is kept for the next events.
const keptBuffer = 64 << 10
