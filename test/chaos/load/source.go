package load

import (
	"sync"

	"github.com/google/uuid"
)

// format is the format in which the points of a source are sent.
type format string

const (
	rows    format = "rows"    // JSON, one object per point
	columns format = "columns" // JSON, arrays
	lines   format = "lines"   // line protocol
)

var formats = []format{rows, columns, lines}

// sourceRounds is the number of rounds for which points are written to a source and all of them are
// in the model. The source is then retired and replaced by a new one.
const sourceRounds = 4

// maxRetired is the number of retired sources of each format that are still checked.
const maxRetired = 3

// sourceSet contains the sources of a tenant.
type sourceSet struct {
	mu      sync.Mutex
	current map[format]*source
	retired []*retiredSource
	open    []openReceipt
}

// point identifies a point of a source.
type point struct {
	metric   string
	isString bool
	us       int64 // microseconds since 1970
}

// source is the model of a data source.
type source struct {
	id           uuid.UUID
	name         string
	format       format
	createdRound int

	mu       sync.Mutex
	points   map[point]*register
	next     int64 // step after the newest timestamp in use
	removals []removal
	// receipts contains the points whose timestamp the server assigned, by their values. A required one
	// must exist once, others at most once.
	receipts map[float64]receipt
}

// receipt is a point that was sent without a timestamp.
type receipt struct{ required bool }

// removal is a deletion whose effect may still be pending.
type removal struct {
	write    int64
	metric   string
	from, to int64 // microseconds; to is exclusive
}

func (r removal) covers(p point) bool {
	return p.metric == r.metric && p.us >= r.from && p.us < r.to
}

func newSource(id uuid.UUID, name string, f format, round int) *source {
	return &source{
		id: id, name: name, format: f, createdRound: round, points: map[point]*register{}, receipts: map[float64]receipt{},
	}
}

// value is a point and the value that a write sets.
type value struct {
	point
	number float64
}

// begin records the points of a write that is about to be sent.
func (s *source) begin(write, now int64, values []value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		r := s.points[v.point]
		if r == nil {
			r = newRegister()
			s.points[v.point] = r
			for _, deletion := range s.removals {
				if deletion.covers(v.point) {
					r.begin(deletion.write, absent(), now)
				}
			}
		}
		r.begin(write, v.number, now)
	}
}

// end records the outcome of a write. straggler means that an unanswered attempt may still take
// effect.
func (s *source) end(write, now int64, values []value, done, straggler bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		switch r := s.points[v.point]; {
		case done:
			r.acknowledge(write, now, straggler)
		case !straggler:
			r.refuse(write)
		}
	}
}

// beginRemoval records a deletion that is about to be sent, endRemoval its outcome.
func (s *source) beginRemoval(deletion removal, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removals = append(s.removals, deletion)
	for p, r := range s.points {
		if deletion.covers(p) {
			r.begin(deletion.write, absent(), now)
		}
	}
}

func (s *source) endRemoval(deletion removal, now int64, done, straggler bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !straggler {
		kept := s.removals[:0]
		for _, r := range s.removals {
			if r.write != deletion.write {
				kept = append(kept, r)
			}
		}
		s.removals = kept
	}
	for p, r := range s.points {
		switch {
		case !deletion.covers(p):
		case done:
			r.acknowledge(deletion.write, now, straggler)
		case !straggler:
			r.refuse(deletion.write)
		}
	}
}

// settle reduces the model to the stored points, after they were compared.
func (s *source) settle(found map[point]float64, receipts map[float64]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removals = nil
	for p, r := range s.points {
		v, ok := found[p]
		if !ok {
			delete(s.points, p) // a later write of the point starts with an empty register
			continue
		}
		r.settle(v)
	}
	for v := range s.receipts {
		if receipts[v] == 0 {
			delete(s.receipts, v)
		} else {
			s.receipts[v] = receipt{required: true}
		}
	}
}

// retiredSource is a source that is no longer written to, reduced to a digest of its rows.
type retiredSource struct {
	id     uuid.UUID
	format format
	series []seriesRow
	digest digest
	// removed means that the source was deleted: it has no rows once the deletion has settled.
	removed, settled bool
}

// digest is the number of some rows and a hash over them.
type digest struct {
	Rows uint64 `ch:"rows"`
	Hash uint64 `ch:"hash"`
}

// receiptMetric is the metric of points that are sent without a timestamp.
const receiptMetric = "receipt"
