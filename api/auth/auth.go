// Package auth tells whose key a request carries.
//
// What a key may do is in Postgres. An [Authenticator] remembers what it looked
// up, stamped with the auth revision it was true at: one row that every change
// to keys or workspaces raises. A remembered answer holds while no channel (a
// poll of Postgres five times a second, and what other processes that poll tell
// through Redis) has reported a higher revision that is not known to be of other
// keys and workspaces, and at least one has reported within the last second. So a revocation works everywhere
// within a second, one channel may be unavailable, and when both are silent each request looks its key up again, or
// is refused as Unavailable.
//
// The package knows nothing of HTTP, workspaces headers or scopes: it gives the
// credential, and api decides with it.
package auth

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

const (
	pollInterval = 200 * time.Millisecond
	// silence is how long remembered answers outlive the last confirmation.
	silence = time.Second
	// lookupTimeout also bounds a poll. Below silence, so that one poll that
	// hangs does not make the answers stale.
	lookupTimeout = 700 * time.Millisecond
	// maxLookups bounds how many connections unknown keys can occupy.
	maxLookups = 8
	cacheSize  = 50_000 // entries of known keys, and as many of unknown ones
)

// store is what the authenticator needs of Postgres. Best its own pool:
// when queries hold all connections of a shared one, no key can be verified.
type store interface {
	AuthChanges(ctx context.Context, since int64) (access.AuthChanges, error)
	CredentialsByHash(ctx context.Context, hashes [][32]byte) ([]*access.Credential, int64, error)
	RecordKeyUses(ctx context.Context, uses []access.KeyUse) error
}

// cache remembers by a key's hash what was looked up.
type cache = otter.Cache[[32]byte, entry]

func newCache() *cache { return otter.Must(&otter.Options[[32]byte, entry]{MaximumSize: cacheSize}) }

// entry is what was looked up, and the auth revision it was true at.
type entry struct {
	revision   int64
	credential *access.Credential // nil: no such key
}

// Authenticator verifies keys. Run must be running, else every request costs a
// look-up.
type Authenticator struct {
	store    store
	start    time.Time
	revision atomic.Int64 // the highest that was reported
	heard    atomic.Int64 // when it was last confirmed, nanoseconds since start; 0: never
	known    *cache       // keys that exist
	unknown  *cache       // what is no key
	flights  singleflight.Group
	slots    chan struct{}
	callers  *callers
	changes  changes
	wakeUp   chan struct{} // has an element when a revision was heard of that is to be read
	uses     useLog
	silent   atomic.Bool // for logging the change once
	confirms sync.Mutex
	others   *others // nil: there is one channel
	metrics  metrics
}

// New creates an authenticator over the store.
func New(s store) *Authenticator {
	a := &Authenticator{
		store: s, start: time.Now().Add(-time.Hour), slots: make(chan struct{}, maxLookups),
		known: newCache(), unknown: newCache(),
		wakeUp:  make(chan struct{}, 1),
		metrics: newMetrics(nil, nil),
	}
	a.callers = newCallers(a.fetch)
	return a
}

// Confirm reports that at asOf the revision was at least this high: what the
// poll does, and what a second channel does with each message.
func (a *Authenticator) Confirm(revision int64, asOf time.Time) {
	a.confirms.Lock()
	defer a.confirms.Unlock()
	a.revision.Store(max(revision, a.revision.Load()))
	a.heard.Store(max(int64(asOf.Sub(a.start)), a.heard.Load()))
	if revision > a.changes.upTo() { // whose it is is to be found out
		select {
		case a.wakeUp <- struct{}{}:
		default:
		}
	}
}

// fresh reports whether remembered answers hold.
func (a *Authenticator) fresh() bool {
	return time.Since(a.start)-time.Duration(a.heard.Load()) < silence
}

// Authenticate returns the credential of a key's text. A text that is no key, an
// unknown, revoked or expired key are Unauthenticated, and look alike; the
// checksum is checked before any look-up. With a revoked and an expired key the
// credential is given beside the error: not to be believed, but to be named. Unavailable:
// the key is not remembered (or the memory may be stale) and Postgres does not answer, or
// too many such keys come from the same address.
func (a *Authenticator) Authenticate(ctx context.Context, text string, from netip.Addr) (*access.Credential, error) {
	credential, outcome, err := a.check(ctx, text, from)
	a.metrics.checks[outcome].Inc()
	switch {
	case err != nil:
		return nil, err
	case outcome != valid:
		return credential, refused()
	}
	return credential, nil
}

// check finds out what a key's text is worth. An error is not the key's fault.
func (a *Authenticator) check(ctx context.Context, text string, from netip.Addr) (
	credential *access.Credential, outcome string, err error,
) {
	key, err := apikey.Parse(text)
	if err != nil {
		return nil, malformed, nil
	}
	hash := key.Hash()
	credential, remembered := a.recall(hash)
	if remembered {
		a.metrics.hit.Inc()
	} else {
		a.metrics.miss.Inc()
		if credential, err = a.lookUp(ctx, hash, from); err != nil {
			return nil, unavailable, err
		}
	}
	switch {
	case credential == nil:
		return nil, unknown, nil
	case credential.RevokedAt != nil:
		return credential, revoked, nil
	case credential.ExpiresAt != nil && !time.Now().Before(*credential.ExpiresAt):
		return credential, expired, nil
	}
	return credential, valid, nil
}

func refused() error { return fault.New(fault.Unauthenticated, "Unauthorized") }

func (a *Authenticator) recall(hash [32]byte) (credential *access.Credential, ok bool) {
	if !a.fresh() {
		return nil, false
	}
	now := a.revision.Load()
	if e, ok := a.known.GetIfPresent(hash); ok && (e.revision >= now || a.changes.untouched(e, now)) {
		return e.credential, true
	}
	if e, ok := a.unknown.GetIfPresent(hash); ok && e.revision >= now {
		return nil, true
	}
	return nil, false
}

// lookUp asks Postgres, once for all requests that ask for the same key at a
// time. The work goes on when one of them leaves.
func (a *Authenticator) lookUp(ctx context.Context, hash [32]byte, from netip.Addr) (*access.Credential, error) {
	result := a.flights.DoChan(string(hash[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		if _, remembered := a.known.GetIfPresent(hash); !remembered {
			return a.callers.find(ctx, from, hash)
		}
		found, err := a.fetch(ctx, [][32]byte{hash})
		if err != nil {
			return nil, err
		}
		return found[0], nil
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, fault.Wrap(r.Err, fault.Unavailable, "Keys cannot be verified at the moment").After(time.Second)
		}
		return r.Val.(*access.Credential), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fetch asks Postgres for keys and remembers the answers.
func (a *Authenticator) fetch(ctx context.Context, hashes [][32]byte) ([]*access.Credential, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	asOf := time.Now()
	found, revision, err := a.store.CredentialsByHash(ctx, hashes)
	if err != nil {
		return nil, err
	}
	a.Confirm(revision, asOf)
	for i, hash := range hashes {
		if e := (entry{revision: revision, credential: found[i]}); e.credential == nil {
			a.unknown.Set(hash, e)
		} else {
			a.known.Set(hash, e)
		}
	}
	return found, nil
}

// Run polls the revision and stores the uses of keys until ctx is done; the last
// uses are stored before it returns.
func (a *Authenticator) Run(ctx context.Context) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	flush := time.NewTicker(flushInterval)
	defer flush.Stop()
	flushed := make(chan struct{}, 1) // holds a token while no flush is running
	flushed <- struct{}{}
	defer a.others.run(ctx, a)()
	for {
		a.poll(ctx)
		select {
		case <-poll.C:
		case <-a.wakeUp:
		case <-flush.C:
			select {
			case <-flushed: // in the background: a slow write must not delay the poll
				go func() {
					a.flushUses(ctx)
					flushed <- struct{}{}
				}()
			default:
			}
		case <-ctx.Done():
			<-flushed
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
			defer cancel()
			a.flushUses(last)
			return nil
		}
	}
}

func (a *Authenticator) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	asOf := time.Now()
	since := a.changes.upTo()
	found, err := a.store.AuthChanges(ctx, since)
	if err == nil {
		a.changes.learn(since, &found)
		a.Confirm(found.Revision, asOf)
		a.others.tell(ctx, found.Revision, found.At, asOf)
	}
	if fresh := a.fresh(); a.silent.Swap(!fresh) == fresh {
		if fresh {
			slog.InfoContext(ctx, "keys are verified from memory again")
		} else {
			slog.WarnContext(ctx, "the auth revision is silent: every request looks its key up", "error", err)
		}
	}
}
