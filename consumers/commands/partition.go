package commands

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// partition is how far a partition of ours is decided.
//
// Records are decided in their order, except for those of workspaces that are set aside: a
// command of theirs takes long, and the others go on without them. The fence stands still
// at the first record that is not decided. Should this process end before it is, the
// records behind it are read again, and their outcomes say that they are decided.
type partition struct {
	number int32
	owner  uuid.UUID // who decides it, as Postgres knows it
	// turn is held by anyone who moves the fence, from reading where it is to the commit.
	turn sync.Mutex

	mu      sync.Mutex
	next    int64 // the fence, as Postgres has it
	end     int64 // all records below are decided or set aside
	aside   map[uuid.UUID]*aside
	bytes   int           // of the records that are set aside
	broken  error         // why something that was set aside cannot be decided here
	changed chan struct{} // closed when fewer are set aside, or broken is set, and then a new one
}

func newPartition(number int32, next int64, owner uuid.UUID) *partition {
	return &partition{
		number: number, owner: owner, next: next, end: next, aside: map[uuid.UUID]*aside{}, changed: make(chan struct{}),
	}
}

// isDecided reports whether a record was decided or set aside before.
func (p *partition) isDecided(r *record) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return r.kafka.Offset < p.end
}

// split returns the records that are to be decided now, those to be set aside, and how
// many were decided before.
func (p *partition) split(records []*record) (fresh, later []*record, skipped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range records {
		switch {
		case r.kafka.Offset < p.end:
			skipped++
		case p.isAside(r):
			later = append(later, r)
		default:
			fresh = append(fresh, r)
		}
	}
	return fresh, later, skipped
}

func (p *partition) isAside(r *record) bool {
	if r.request == nil {
		return false
	}
	w := p.aside[r.request.Workspace]
	return w != nil && r.kafka.Offset >= w.from
}

// fence returns how the fence moves when everything below end is decided or set aside,
// without but the first done records of a workspace set aside, and with some that are
// set aside with it. The caller has the turn.
func (p *partition) fence(end int64, w *aside, done int, later []*record) graphstore.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	end = max(end, p.end)
	to := end
	for _, other := range p.aside {
		queue := other.queue
		if other == w {
			queue = queue[done:]
		}
		if len(queue) > 0 {
			to = min(to, queue[0].kafka.Offset)
		}
	}
	if len(later) > 0 {
		to = min(to, later[0].kafka.Offset)
	}
	return graphstore.Offset{Partition: p.number, From: p.next, To: to, Held: to < end}
}

// advance notes that records below end are decided, except for those that are set aside now,
// and where the fence is. It returns the workspaces that begin to be decided by
// themselves.
func (p *partition) advance(end, fence int64, later []*record) (begun []*aside) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end, p.next = max(end, p.end), fence
	for _, r := range later {
		w := p.aside[r.request.Workspace]
		w.queue = append(w.queue, r)
		p.bytes += len(r.kafka.Value)
		if !w.begun {
			w.begun = true
			begun = append(begun, w)
		}
	}
	return begun
}

// setAside has the records of a workspace from one on set aside.
func (p *partition) setAside(r *record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.request.Workspace
	if p.aside[id] == nil {
		p.aside[id] = &aside{workspace: id, from: r.kafka.Offset}
	}
}

// waiting returns records of a workspace set aside; none: it is not set aside any more.
func (p *partition) waiting(w *aside) []*record {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(w.queue) == 0 {
		delete(p.aside, w.workspace)
		p.change()
	}
	return slices.Clone(w.queue)
}

// decided takes the first records off those that are set aside of a workspace, and notes
// where the fence is.
func (p *partition) decided(w *aside, done int, fence int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range w.queue[:done] {
		p.bytes -= len(r.kafka.Value)
	}
	w.queue, p.next = w.queue[done:], fence
	p.change()
}

// fail has anyone who stores the next records of the partition fail.
func (p *partition) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = err
	p.change()
}

func (p *partition) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until no more than so many bytes of records are set aside, or with 0 no
// workspace is.
func (p *partition) await(ctx context.Context, bytes int) error {
	for {
		p.mu.Lock()
		enough, broken, changed := p.bytes <= bytes && (bytes > 0 || len(p.aside) == 0), p.broken, p.changed
		p.mu.Unlock()
		if enough || broken != nil {
			return broken
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
