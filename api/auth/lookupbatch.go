package auth

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/livegraph/livegraph/storage/postgres/access"
)

const (
	// maxUncachedLookups bounds the concurrent look-ups of keys that are not cached. The
	// remaining slots are for cached keys whose entries are no longer valid.
	maxUncachedLookups = 4
	// maxPendingPerAddress bounds the keys of one address that wait for a look-up; further
	// ones are refused.
	maxPendingPerAddress = 64
	// maxPendingAfterUnknown is the limit for an address as long as each of its batches contains
	// keys that do not exist.
	maxPendingAfterUnknown = 16
	// batchInterval is the pause after a look-up in which some keys did not exist, so that
	// the next one covers many keys: an address that tries keys costs Postgres at most 100
	// statements a second.
	batchInterval = 10 * time.Millisecond
)

var errTooManyPending = errors.New("too many keys that are not remembered come from this address")

// lookupFunc returns the credentials of the keys with the given hashes, nil for a key that
// does not exist.
type lookupFunc func(ctx context.Context, hashes [][32]byte) ([]*access.Credential, error)

// lookupBatcher looks up keys that are not cached. It looks up the keys of an address
// together, one statement at a time, so that a client that sends invented keys does not
// block the look-ups of other clients.
type lookupBatcher struct {
	lookUp lookupFunc
	slots  chan struct{}

	mu      sync.Mutex
	pending map[netip.Addr]*addressQueue // an address has an entry while a goroutine serves it
}

// addressQueue contains the keys of an address that wait for the next batch.
type addressQueue struct {
	lookups []*pendingLookup
	unknown bool // the last batch contained keys that do not exist
}

func (q *addressQueue) full() bool {
	if q.unknown {
		return len(q.lookups) >= maxPendingAfterUnknown
	}
	return len(q.lookups) >= maxPendingPerAddress
}

// pendingLookup is a key that waits for its look-up.
type pendingLookup struct {
	hash       [32]byte
	done       chan struct{} // closed when the fields below are set
	credential *access.Credential
	err        error
}

func newLookupBatcher(lookUp lookupFunc) *lookupBatcher {
	return &lookupBatcher{
		lookUp: lookUp, slots: make(chan struct{}, maxUncachedLookups), pending: map[netip.Addr]*addressQueue{},
	}
}

// find looks a key up, together with other keys from the same address.
func (b *lookupBatcher) find(ctx context.Context, from netip.Addr, hash [32]byte) (*access.Credential, error) {
	s := &pendingLookup{hash: hash, done: make(chan struct{})}
	if !b.enqueue(from, s) {
		return nil, errTooManyPending
	}
	select {
	case <-s.done:
		return s.credential, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refuses reports whether find would refuse a key of an address that sends unknown keys. It
// costs much less than find.
func (b *lookupBatcher) refuses(from netip.Addr) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.pending[from]
	return q != nil && q.unknown && q.full()
}

func (b *lookupBatcher) enqueue(from netip.Addr, s *pendingLookup) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	q, served := b.pending[from]
	if !served {
		q = &addressQueue{}
		b.pending[from] = q
	}
	if q.full() {
		return false
	}
	q.lookups = append(q.lookups, s)
	if !served {
		go b.serve(from, q)
	}
	return true
}

// serve looks up the pending keys of an address until there are none.
func (b *lookupBatcher) serve(from netip.Addr, q *addressQueue) {
	for {
		b.mu.Lock()
		batch := q.lookups
		if len(batch) == 0 {
			delete(b.pending, from)
			b.mu.Unlock()
			return
		}
		q.lookups = nil
		b.mu.Unlock()
		someUnknown := b.lookUpBatch(batch)
		b.mu.Lock()
		q.unknown = someUnknown
		b.mu.Unlock()
		if someUnknown {
			time.Sleep(batchInterval)
		}
	}
}

// lookUpBatch looks a batch up, and reports whether some of its keys do not exist.
func (b *lookupBatcher) lookUpBatch(batch []*pendingLookup) (someUnknown bool) {
	ctx, cancel := context.WithTimeout(context.Background(), newKeyTimeout)
	defer cancel()
	hashes := make([][32]byte, len(batch))
	for i, s := range batch {
		hashes[i] = s.hash
	}
	var found []*access.Credential
	var err error
	select {
	case b.slots <- struct{}{}:
		found, err = b.lookUp(ctx, hashes)
		<-b.slots
	case <-ctx.Done():
		err = ctx.Err()
	}
	for i, s := range batch {
		if s.err = err; err == nil {
			s.credential = found[i]
			someUnknown = someUnknown || found[i] == nil
		}
		close(s.done)
	}
	return someUnknown
}
