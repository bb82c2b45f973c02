package commands

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// partition is the state of an owned partition.
//
// Records are decided in order, except for those of workspaces that are set aside because a
// command of theirs takes long. The other workspaces continue without them. The fence stays at
// the first record that is not decided. If the process ends there, the records after the fence
// are read again, and those that have an outcome are not decided again.
type partition struct {
	number int32
	owner  uuid.UUID // ID of this claim of the partition in Postgres
	// fenceMu is held while the fence is moved, from reading its value to the commit.
	fenceMu sync.Mutex

	mu      sync.Mutex
	next    int64 // the fence, as stored in Postgres
	end     int64 // all records below it are decided or set aside
	aside   map[uuid.UUID]*asideWorkspace
	bytes   int           // size of the records that are set aside
	failure error         // why a workspace set aside cannot be decided by this process
	changed chan struct{} // closed and replaced when records leave the queues or failure is set
}

func newPartition(number int32, next int64, owner uuid.UUID) *partition {
	return &partition{
		number: number, owner: owner, next: next, end: next, aside: map[uuid.UUID]*asideWorkspace{},
		changed: make(chan struct{}),
	}
}

// isDecided reports whether a record was decided or set aside before.
func (p *partition) isDecided(r *record) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return r.kafka.Offset < p.end
}

// split returns the records to decide now, those to set aside, and the number of those that
// were decided or set aside before.
func (p *partition) split(records []*record) (pending, deferred []*record, skipped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range records {
		switch {
		case r.kafka.Offset < p.end:
			skipped++
		case p.isAside(r):
			deferred = append(deferred, r)
		default:
			pending = append(pending, r)
		}
	}
	return pending, deferred, skipped
}

func (p *partition) isAside(r *record) bool {
	if r.request == nil {
		return false
	}
	w := p.aside[r.request.Workspace]
	return w != nil && r.kafka.Offset >= w.from
}

// fenceMove returns the move of the fence after a group. All records below end are decided or
// set aside. The first decided records of w are decided, if w is not nil. The deferred records
// are newly set aside. The caller holds fenceMu.
func (p *partition) fenceMove(end int64, w *asideWorkspace, decided int, deferred []*record) graphstore.Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	end = max(end, p.end)
	to := end
	for _, other := range p.aside {
		queue := other.queue
		if other == w {
			queue = queue[decided:]
		}
		if len(queue) > 0 {
			to = min(to, queue[0].kafka.Offset)
		}
	}
	if len(deferred) > 0 {
		to = min(to, deferred[0].kafka.Offset)
	}
	return graphstore.Offset{Partition: p.number, From: p.next, To: to, Held: to < end}
}

// advance records that the records below end are decided or, if deferred, set aside, and where
// the fence is. It returns the workspaces that the caller has to start.
func (p *partition) advance(end, fence int64, deferred []*record) (started []*asideWorkspace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end, p.next = max(end, p.end), fence
	for _, r := range deferred {
		w := p.aside[r.request.Workspace]
		w.queue = append(w.queue, r)
		p.bytes += len(r.kafka.Value)
		if !w.started {
			w.started = true
			started = append(started, w)
		}
	}
	return started
}

// setAside marks the workspace of r as set aside, starting with r.
func (p *partition) setAside(r *record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.request.Workspace
	if p.aside[id] == nil {
		p.aside[id] = &asideWorkspace{workspace: id, from: r.kafka.Offset}
	}
}

// queued returns the queue of w. If the queue is empty, w is no longer set aside.
func (p *partition) queued(w *asideWorkspace) []*record {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(w.queue) == 0 {
		delete(p.aside, w.workspace)
		p.notify()
	}
	return slices.Clone(w.queue)
}

// removeDecided removes the first count records from the queue of w and records where the fence
// is.
func (p *partition) removeDecided(w *asideWorkspace, count int, fence int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range w.queue[:count] {
		p.bytes -= len(r.kafka.Value)
	}
	w.queue, p.next = w.queue[count:], fence
	p.notify()
}

// fail makes the next Store of the partition return err.
func (p *partition) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
	p.notify()
}

func (p *partition) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// waitForAside waits until at most limit bytes of records are set aside. If limit is 0, it waits
// until no workspace is set aside.
func (p *partition) waitForAside(ctx context.Context, limit int) error {
	for {
		p.mu.Lock()
		enough, broken, changed := p.bytes <= limit && (limit > 0 || len(p.aside) == 0), p.failure, p.changed
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
