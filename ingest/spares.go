package ingest

import (
	"sync"
	"time"
)

// How much memory batches that wait for their next request may hold together, and
// how long they are kept when none comes.
const (
	sparesBytes = 160 << 20
	sparesTime  = 30 * time.Second
)

// spares keeps the batches of past requests, the last one on top. A sync.Pool lets
// go of what is in it at every second collection; requests with many series, whose
// batches are large, bring collections about so often that each would grow its
// batch anew, and so bring about the next one.
type spares struct {
	mu    sync.Mutex
	list  []spare
	bytes int
	sweep *time.Timer // while there are batches
}

type spare struct {
	batch *batch
	bytes int
	since time.Time
}

// take gives the batch that was used last, or nil.
func (s *spares) take() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.list) - 1
	if last < 0 {
		return nil
	}
	top := s.list[last]
	s.list[last] = spare{}
	s.list = s.list[:last]
	s.bytes -= top.bytes
	return top.batch
}

// give keeps a batch of so many bytes, if there is room.
func (s *spares) give(b *batch, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+bytes > sparesBytes {
		return
	}
	s.list = append(s.list, spare{batch: b, bytes: bytes, since: time.Now()})
	s.bytes += bytes
	if s.sweep == nil {
		s.sweep = time.AfterFunc(sparesTime, s.forget)
	}
}

// forget lets go of the batches that no request has wanted for long: they lie at
// the bottom, the longest unused first.
func (s *spares) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, limit := 0, time.Now().Add(-sparesTime)
	for old < len(s.list) && s.list[old].since.Before(limit) {
		s.bytes -= s.list[old].bytes
		old++
	}
	n := copy(s.list, s.list[old:])
	clear(s.list[n:])
	if s.list = s.list[:n]; n > 0 {
		s.sweep.Reset(sparesTime)
	} else {
		s.sweep = nil
	}
}
