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
	// maxStrangers of the look-ups at a time are of keys that are not remembered. The
	// others are for those that are, and have changed, or are to be confirmed.
	maxStrangers = 4
	// maxWaiting keys of one address wait for a look-up; further ones are refused.
	maxWaiting = 64
	// gatherTime is between two look-ups for an address of which some keys do not exist,
	// so that each is of many: trying keys costs Postgres at most 100 statements a second
	// an address.
	gatherTime = 10 * time.Millisecond
)

var errCrowded = errors.New("too many keys that are not remembered come from this address")

// lookUpAll returns the credentials of keys by their hashes, nil for a key that does not
// exist.
type lookUpAll func(ctx context.Context, hashes [][32]byte) ([]*access.Credential, error)

// callers look keys up that are not remembered. The keys of an address are looked up
// together, one statement at a time: who sends keys that were made up keeps nobody else
// from having theirs looked up.
type callers struct {
	lookUp lookUpAll
	slots  chan struct{}

	mu sync.Mutex
	at map[netip.Addr][]*stranger // that wait; an address is here while a goroutine serves it
}

// stranger is a key that is not remembered.
type stranger struct {
	hash       [32]byte
	answered   chan struct{} // closed when the fields below are set
	credential *access.Credential
	err        error
}

func newCallers(lookUp lookUpAll) *callers {
	return &callers{lookUp: lookUp, slots: make(chan struct{}, maxStrangers), at: map[netip.Addr][]*stranger{}}
}

// find looks a key up, together with others from the same address.
func (c *callers) find(ctx context.Context, from netip.Addr, hash [32]byte) (*access.Credential, error) {
	s := &stranger{hash: hash, answered: make(chan struct{})}
	if !c.join(from, s) {
		return nil, errCrowded
	}
	select {
	case <-s.answered:
		return s.credential, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *callers) join(from netip.Addr, s *stranger) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, served := c.at[from]
	if len(waiting) >= maxWaiting {
		return false
	}
	c.at[from] = append(waiting, s)
	if !served {
		go c.serve(from)
	}
	return true
}

// serve looks up what waits of an address until nothing does.
func (c *callers) serve(from netip.Addr) {
	for {
		c.mu.Lock()
		batch := c.at[from]
		if len(batch) == 0 {
			delete(c.at, from)
			c.mu.Unlock()
			return
		}
		c.at[from] = nil
		c.mu.Unlock()
		if c.answer(batch) {
			time.Sleep(gatherTime)
		}
	}
}

// answer looks a batch up, and reports whether some of its keys do not exist.
func (c *callers) answer(batch []*stranger) (someUnknown bool) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	hashes := make([][32]byte, len(batch))
	for i, s := range batch {
		hashes[i] = s.hash
	}
	var found []*access.Credential
	var err error
	select {
	case c.slots <- struct{}{}:
		found, err = c.lookUp(ctx, hashes)
		<-c.slots
	case <-ctx.Done():
		err = ctx.Err()
	}
	for i, s := range batch {
		if s.err = err; err == nil {
			s.credential = found[i]
			someUnknown = someUnknown || found[i] == nil
		}
		close(s.answered)
	}
	return someUnknown
}
