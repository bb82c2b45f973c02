// Package auth verifies API keys.
//
// Credentials are stored in Postgres. An [Authenticator] caches each look-up together with
// the auth revision at which it was made. The auth revision is one row that every change to
// keys or workspaces increments. Revisions arrive through two channels: a poll of Postgres
// five times a second, and the reports of other processes through Redis. A cache entry is
// valid while both conditions hold:
//   - No channel has reported a higher revision, except for revisions that are known to
//     concern other keys and workspaces only.
//   - At least one channel has reported within the last second.
//
// So a revocation takes effect in every process within a second, and one channel may be
// unavailable. When both are unavailable, each request looks its key up again, or is refused
// as Unavailable.
//
// The package does not depend on HTTP, workspace headers or scopes: it returns the
// credential, and package api authorizes the request.
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
	// staleAfter is how long cache entries remain valid after the last confirmation.
	staleAfter = time.Second
	// lookupTimeout also bounds a poll. It is below staleAfter, so that one poll that
	// hangs does not make the cache stale.
	lookupTimeout = 700 * time.Millisecond
	// newKeyTimeout bounds the look-up of a key that this process does not know yet. It is longer: a slow answer of
	// Postgres, as after a start, is better than a refusal.
	newKeyTimeout = 2 * time.Second
	// maxLookups bounds how many connections unknown keys can occupy.
	maxLookups = 8
	cacheSize  = 50_000 // entries of known keys, and the same number of unknown ones
)

// store reads keys from Postgres. It should have its own connection pool: when queries
// hold all connections of a shared pool, no key can be verified.
type store interface {
	AuthChanges(ctx context.Context, since int64) (access.AuthChanges, error)
	CredentialsByHash(ctx context.Context, hashes [][32]byte) ([]*access.Credential, int64, error)
	RecordKeyUses(ctx context.Context, uses []access.KeyUse) error
}

// cache maps the hash of a key to the result of its look-up.
type cache = otter.Cache[[32]byte, entry]

func newCache() *cache { return otter.Must(&otter.Options[[32]byte, entry]{MaximumSize: cacheSize}) }

// entry is the result of a look-up and the auth revision at which it was made.
type entry struct {
	revision   int64
	credential *access.Credential // nil: no such key
}

// Authenticator verifies keys. Without a running Run, every request costs a look-up.
type Authenticator struct {
	store       store
	start       time.Time
	revision    atomic.Int64 // the highest reported one
	confirmed   atomic.Int64 // time of the last confirmation, nanoseconds since start; 0: none
	knownKeys   *cache       // keys that exist
	unknownKeys *cache       // keys that do not exist
	flights     singleflight.Group
	lookupSlots chan struct{}
	batcher     *lookupBatcher
	changes     changes
	wakeUp      chan struct{} // has an element when the changes of a new revision must be read
	uses        useLog
	stale       atomic.Bool // the last logged state
	confirmMu   sync.Mutex
	peers       *peers // nil: Postgres is the only channel
	metrics     metrics
}

// New creates an authenticator over the store.
func New(s store) *Authenticator {
	a := &Authenticator{
		store: s, start: time.Now().Add(-time.Hour), lookupSlots: make(chan struct{}, maxLookups),
		knownKeys: newCache(), unknownKeys: newCache(),
		wakeUp:  make(chan struct{}, 1),
		metrics: newMetrics(nil, nil),
	}
	a.batcher = newLookupBatcher(a.fetch)
	return a
}

// Confirm records that the revision was at least this high at asOf. The poll calls it, and
// the second channel calls it for each message.
func (a *Authenticator) Confirm(revision int64, asOf time.Time) {
	a.confirmMu.Lock()
	defer a.confirmMu.Unlock()
	a.revision.Store(max(revision, a.revision.Load()))
	a.confirmed.Store(max(int64(asOf.Sub(a.start)), a.confirmed.Load()))
	if revision > a.changes.knownRevision() { // it is not known yet which keys and workspaces changed
		select {
		case a.wakeUp <- struct{}{}:
		default:
		}
	}
}

// fresh reports whether the cache was confirmed within staleAfter.
func (a *Authenticator) fresh() bool {
	return time.Since(a.start)-time.Duration(a.confirmed.Load()) < staleAfter
}

// Authenticate returns the credential of a key. For a malformed, unknown, revoked or expired
// key it returns the same Unauthenticated error; the checksum is verified before any look-up.
// For a revoked or expired key it returns the credential beside the error: it does not
// authorize anything, but identifies the key. It returns an Unavailable error when the key
// is not cached (or the cache is stale) and Postgres does not answer, or when too many such
// keys come from the same address.
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

// check returns the outcome of verifying a key. It returns an error only when the key could
// not be verified.
func (a *Authenticator) check(ctx context.Context, text string, from netip.Addr) (
	credential *access.Credential, outcome string, err error,
) {
	key, err := apikey.Parse(text)
	if err != nil {
		return nil, malformed, nil
	}
	hash := key.Hash()
	credential, ok := a.cached(hash)
	if ok {
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

// cached returns the cached result of a look-up, if it is still valid.
func (a *Authenticator) cached(hash [32]byte) (credential *access.Credential, ok bool) {
	if !a.fresh() {
		return nil, false
	}
	now := a.revision.Load()
	if e, ok := a.knownKeys.GetIfPresent(hash); ok && (e.revision >= now || a.changes.unchanged(e, now)) {
		return e.credential, true
	}
	if e, ok := a.unknownKeys.GetIfPresent(hash); ok && e.revision >= now {
		return nil, true
	}
	return nil, false
}

// lookUp reads a key from Postgres. Concurrent requests with the same key share one look-up,
// which continues when one of them is cancelled.
func (a *Authenticator) lookUp(ctx context.Context, hash [32]byte, from netip.Addr) (*access.Credential, error) {
	_, wasKnown := a.knownKeys.GetIfPresent(hash)
	if !wasKnown && a.batcher.refuses(from) {
		return nil, errUnverifiable(errTooManyPending)
	}
	result := a.flights.DoChan(string(hash[:]), func() (any, error) {
		timeout := newKeyTimeout
		if wasKnown {
			timeout = lookupTimeout
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		if !wasKnown {
			return a.batcher.find(ctx, from, hash)
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
			return nil, errUnverifiable(r.Err)
		}
		return r.Val.(*access.Credential), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func errUnverifiable(cause error) error {
	return fault.Wrap(cause, fault.Unavailable, "Keys cannot be verified at the moment").After(time.Second)
}

// fetch reads keys from Postgres and caches the results.
func (a *Authenticator) fetch(ctx context.Context, hashes [][32]byte) ([]*access.Credential, error) {
	select {
	case a.lookupSlots <- struct{}{}:
		defer func() { <-a.lookupSlots }()
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
			a.unknownKeys.Set(hash, e)
		} else {
			a.knownKeys.Set(hash, e)
		}
	}
	return found, nil
}

// Run polls the revision and stores the last uses of keys until ctx is done. It stores the
// remaining uses before it returns.
func (a *Authenticator) Run(ctx context.Context) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	flush := time.NewTicker(flushInterval)
	defer flush.Stop()
	flushed := make(chan struct{}, 1) // holds a token while no flush is running
	flushed <- struct{}{}
	defer a.peers.run(ctx, a)()
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
	since := a.changes.knownRevision()
	found, err := a.store.AuthChanges(ctx, since)
	if err == nil {
		a.changes.apply(since, &found)
		a.Confirm(found.Revision, asOf)
		a.peers.publish(ctx, found.Revision, found.At, asOf)
	}
	if fresh := a.fresh(); a.stale.Swap(!fresh) == fresh {
		if fresh {
			slog.InfoContext(ctx, "keys are verified from memory again")
		} else {
			slog.WarnContext(ctx, "the auth revision cannot be confirmed: every request looks its key up", "error", err)
		}
	}
}
