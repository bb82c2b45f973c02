package audit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// foldInterval is how long requests are counted before the records are written. The
	// responses wait that long.
	foldInterval = 100 * time.Millisecond
	// maxFoldsPerKey is the maximum number of records of one key per interval. Further requests
	// are counted by workspace and status only, and beyond twice the number by status only.
	maxFoldsPerKey = 32
	// maxFoldWaiters is the maximum number of requests that wait to be recorded.
	maxFoldWaiters = 4096
)

// foldKey contains the fields that requests of one record have in common.
type foldKey struct {
	key, workspace uuid.UUID
	method, route  string
	status         int
	ip             netip.Addr
}

// folds collects similar requests into common records.
type folds struct {
	mu   sync.Mutex
	open *foldBatch // nil: no request waits
}

// foldBatch is a batch of requests whose records are written together.
type foldBatch struct {
	records  map[foldKey]*auditrecord.Record
	perKey   map[uuid.UUID]int // records
	requests int
	done     chan struct{}
	err      error // set before done is closed
}

// Fold records a request in one record with others that have the same key, workspace, method,
// route, status and address. The record contains these fields, the number of requests
// (Requests), the time of the first (At) and the time from the first to the last (Duration).
// After Fold returns nil, the record survives a crash of the process. It returns an
// Unavailable error if too many requests wait already.
func (t *Trail) Fold(r *auditrecord.Record) error {
	b := t.join(r)
	if b == nil {
		t.metrics.failed.Inc()
		return fault.New(fault.Unavailable, "Uses of keys cannot be recorded at the moment").After(retryAfterFailing)
	}
	<-b.done
	return b.err
}

// join adds a request to the current batch and returns the batch, or nil if it is full.
func (t *Trail) join(r *auditrecord.Record) *foldBatch {
	t.folds.mu.Lock()
	defer t.folds.mu.Unlock()
	b := t.folds.open
	if b == nil {
		b = &foldBatch{records: map[foldKey]*auditrecord.Record{}, perKey: map[uuid.UUID]int{}, done: make(chan struct{})}
		t.folds.open = b
		time.AfterFunc(foldInterval, t.writeFolds)
	}
	if b.requests >= maxFoldWaiters {
		return nil
	}
	b.add(r)
	t.metrics.folded.Inc()
	return b
}

func (b *foldBatch) add(r *auditrecord.Record) {
	b.requests++
	key := foldKey{
		r.Key, r.Workspace, auditrecord.Sanitize(r.Method, auditrecord.MaxMethod), r.Route, r.Status, r.IP.WithZone(""),
	}
	if b.records[key] == nil && b.perKey[r.Key] >= maxFoldsPerKey {
		key.method, key.route, key.ip = "", auditrecord.NoRoute, netip.Addr{}
		if b.perKey[r.Key] >= 2*maxFoldsPerKey {
			key.workspace = uuid.Nil
		}
	}
	known := b.records[key]
	if known == nil {
		first := *r
		first.Workspace, first.Method, first.Route, first.IP = key.workspace, key.method, key.route, key.ip
		first.Final, first.Duration, first.Requests = false, 0, 1
		b.records[key] = &first
		b.perKey[r.Key]++
		return
	}
	// Requests may be added in another order than they arrived.
	last := known.At.Add(known.Duration)
	if r.At.After(last) {
		last = r.At
	}
	if r.At.Before(known.At) {
		known.At = r.At
	}
	known.Duration = last.Sub(known.At)
	known.BytesIn += r.BytesIn
	known.BytesOut += r.BytesOut
	known.Requests++
}

// writeFolds writes the records of the current batch and unblocks the waiting requests.
func (t *Trail) writeFolds() {
	t.folds.mu.Lock()
	b := t.folds.open
	t.folds.open = nil
	t.folds.mu.Unlock()
	for _, record := range b.records {
		if err := t.Write(record); err != nil {
			b.err = err
		}
	}
	close(b.done)
}
