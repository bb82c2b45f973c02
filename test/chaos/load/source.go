package load

import (
	"sync"

	"github.com/google/uuid"
)

// format is how points of a source are sent.
type format string

const (
	rows    format = "rows"    // JSON, a row a point
	columns format = "columns" // JSON, arrays
	lines   format = "lines"   // line protocol
)

var formats = []format{rows, columns, lines}

// keepRounds is for how many rounds points are written to a source and all of them are
// in the model. Then it is put aside, and a new one takes its place.
const keepRounds = 4

// keptAside is how many sources of each format stay under observation after that.
const keptAside = 3

// shelf is the sources of a tenant.
type shelf struct {
	mu      sync.Mutex
	current map[format]*source
	aside   []*aside
	open    []openReceipt
}

// point names a point of a source.
type point struct {
	metric string
	text   bool  // it is a string
	us     int64 // microseconds since 1970
}

// source is what the model knows of a data source.
type source struct {
	id     uuid.UUID
	name   string
	format format
	born   int // the round

	mu       sync.Mutex
	points   map[point]*register
	next     int64 // the newest timestamp that was used, in steps
	removals []removal
	// receipts are points that got their time from the server, by their values: each is
	// there once, if it must be, or at most once.
	receipts map[float64]receipt
}

// receipt is a point without its own time.
type receipt struct{ must bool }

// removal is a deletion that may still be on its way.
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
		id: id, name: name, format: f, born: round, points: map[point]*register{}, receipts: map[float64]receipt{},
	}
}

// value is what a write wants to be of a point.
type value struct {
	point
	number float64
}

// begin notes points that are being sent by a write.
func (s *source) begin(write, now int64, values []value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		r := s.points[v.point]
		if r == nil {
			r = newRegister()
			s.points[v.point] = r
			for _, gone := range s.removals {
				if gone.covers(v.point) {
					r.begin(gone.write, nothing(), now)
				}
			}
		}
		r.begin(write, v.number, now)
	}
}

// end notes what came of a write. With straggler, a try of it may still be on its way.
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

// beginRemoval notes a deletion that is being sent, endRemoval what came of it.
func (s *source) beginRemoval(gone removal, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removals = append(s.removals, gone)
	for p, r := range s.points {
		if gone.covers(p) {
			r.begin(gone.write, nothing(), now)
		}
	}
}

func (s *source) endRemoval(gone removal, now int64, done, straggler bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !straggler {
		kept := s.removals[:0]
		for _, r := range s.removals {
			if r.write != gone.write {
				kept = append(kept, r)
			}
		}
		s.removals = kept
	}
	for p, r := range s.points {
		switch {
		case !gone.covers(p):
		case done:
			r.acknowledge(gone.write, now, straggler)
		case !straggler:
			r.refuse(gone.write)
		}
	}
}

// settle reduces the model to what was found, after it was compared.
func (s *source) settle(found map[point]float64, receipts map[float64]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removals = nil
	for p, r := range s.points {
		v, ok := found[p]
		if !ok {
			delete(s.points, p) // a point that is written again has nothing before it
			continue
		}
		r.settle(v)
	}
	for v := range s.receipts {
		if receipts[v] == 0 {
			delete(s.receipts, v)
		} else {
			s.receipts[v] = receipt{must: true}
		}
	}
}

// aside is a source to which nothing is written any more, reduced to what its rows come
// to.
type aside struct {
	id     uuid.UUID
	format format
	series []seriesRow
	digest digest
	// removed says that it was deleted: then it has no rows, once that has settled.
	removed, settled bool
}

// digest is what rows come to.
type digest struct {
	Rows uint64 `ch:"rows"`
	Hash uint64 `ch:"hash"`
}

// receiptMetric is the metric of points without their own time.
const receiptMetric = "receipt"
