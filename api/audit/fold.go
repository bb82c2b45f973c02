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
	// foldFor is for how long uses are counted before the counts are written. Who is
	// counted waits that long for the answer.
	foldFor = 100 * time.Millisecond
	// maxFolds bounds the records of one key in that time; beyond, its uses are counted by
	// workspace and status alone, and beyond twice as many by status.
	maxFolds = 32
	// maxFolding bounds the uses that wait to be written.
	maxFolding = 4096
)

// foldKey is what the uses that one record counts have in common.
type foldKey struct {
	key, workspace uuid.UUID
	method, route  string
	status         int
	ip             netip.Addr
}

// folds are the uses of which those that are alike become one record.
type folds struct {
	mu   sync.Mutex
	open *foldBatch // nil: nobody waits
}

// foldBatch is uses that are written together.
type foldBatch struct {
	records map[foldKey]*auditrecord.Record
	perKey  map[uuid.UUID]int // records
	uses    int
	done    chan struct{}
	err     error // set before done is closed
}

// Fold records a use together with others that are alike, except for their time: the record
// has the key, workspace, method, route, status and address, how many uses there were
// (Requests), when the first of them came (At) and how much later the last (Duration). When
// it returns nil the record outlives the process. Unavailable: too many wait already.
func (t *Trail) Fold(r *auditrecord.Record) error {
	b := t.join(r)
	if b == nil {
		t.metrics.failed.Inc()
		return fault.New(fault.Unavailable, "Uses of keys cannot be recorded at the moment").After(retryAfterFailing)
	}
	<-b.done
	return b.err
}

// join adds a use to those that are written next; nil: they are too many.
func (t *Trail) join(r *auditrecord.Record) *foldBatch {
	t.folds.mu.Lock()
	defer t.folds.mu.Unlock()
	b := t.folds.open
	if b == nil {
		b = &foldBatch{records: map[foldKey]*auditrecord.Record{}, perKey: map[uuid.UUID]int{}, done: make(chan struct{})}
		t.folds.open = b
		time.AfterFunc(foldFor, t.writeFolds)
	}
	if b.uses >= maxFolding {
		return nil
	}
	b.add(r)
	t.metrics.folded.Inc()
	return b
}

func (b *foldBatch) add(r *auditrecord.Record) {
	b.uses++
	key := foldKey{
		r.Key, r.Workspace, auditrecord.Clean(r.Method, auditrecord.MaxMethod), r.Route, r.Status, r.IP.WithZone(""),
	}
	if b.records[key] == nil && b.perKey[r.Key] >= maxFolds {
		key.method, key.route, key.ip = "", auditrecord.NoRoute, netip.Addr{}
		if b.perKey[r.Key] >= 2*maxFolds {
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
	// The first that is counted may not be the first that came.
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

// writeFolds writes what was counted and lets those go that wait for it.
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
