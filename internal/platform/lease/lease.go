// Package lease ensures that at most one process at a time does some work.
//
// The holder of a lease renews it while it works. If the process dies, the lease expires and
// another process takes over the work. A holder measures the time from before its request to
// the store, so that by its own clock it stops no later than the store allows another to start.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// renewalsPerHold is the number of renewals within the duration of a lease, so that a
	// single failed renewal does not lose it.
	renewalsPerHold = 3
	// maxAge is the maximum age of a lease before Acquire renews it.
	maxAge = 20 * time.Second
	// releaseTimeout is short because a process that shuts down must not wait for a store.
	releaseTimeout = time.Second
)

// Errors of work under a lease.
var (
	ErrHeld    = errors.New("another process does this work")
	ErrLost    = errors.New("another process has taken this work over")
	ErrExpired = errors.New("it could not be renewed in time")
)

// Store stores the leases of all processes.
type Store interface {
	// AcquireLease acquires the named lease for the holder, for the given duration, or renews
	// it if the holder has it already. It reports false if another holder has the lease.
	AcquireLease(ctx context.Context, name string, holder uuid.UUID, hold time.Duration) (bool, error)
	// ReleaseLease releases a lease if the holder has it.
	ReleaseLease(ctx context.Context, name string, holder uuid.UUID) error
}

// Lease is the lease of one process for one piece of work. It is not safe for concurrent use.
type Lease struct {
	store     Store
	name      string
	holder    uuid.UUID
	hold      time.Duration
	renewed   time.Time // zero: not known to be held
	requested bool
}

// New creates a lease that is not held yet. hold is the duration of the lease: the time after
// which another process can take over the work of a process that died.
func New(store Store, name string, hold time.Duration) *Lease {
	return &Lease{store: store, name: name, holder: uuid.New(), hold: hold}
}

// Holder returns the id by which the store knows the holder of this lease, so that a transaction of the store can
// check that it still holds it.
func (l *Lease) Holder() uuid.UUID { return l.holder }

// Acquire acquires the lease, or renews it unless it was renewed shortly before, and reports
// whether it is held. Call it before each step of work whose steps take less than two
// thirds of the duration of the lease.
func (l *Lease) Acquire(ctx context.Context) (bool, error) {
	now := time.Now()
	if !l.renewed.IsZero() && now.Sub(l.renewed) < min(maxAge, l.hold/renewalsPerHold) {
		return true, nil
	}
	l.requested = true
	held, err := l.acquire(ctx, l.hold)
	if l.renewed = (time.Time{}); held {
		l.renewed = now
	}
	return held, err
}

// Check is like Acquire, but returns ErrLost if the lease is not held. It is for work in progress.
func (l *Lease) Check(ctx context.Context) error {
	held, err := l.Acquire(ctx)
	if err == nil && !held {
		err = ErrLost
	}
	return err
}

// Run runs work of any duration and renews the lease meanwhile. It cancels the context of the
// work if the lease is lost, or expires because it could not be renewed, and returns that as the
// error. It returns ErrHeld, without running the work, if another process holds the lease.
func (l *Lease) Run(ctx context.Context, work func(context.Context) error) error {
	since := time.Now()
	l.requested = true
	held, err := l.acquire(ctx, l.hold)
	if err != nil {
		return err
	}
	if !held {
		return ErrHeld
	}
	workCtx, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { cancel(l.renew(workCtx, since)) })
	err = work(workCtx)
	if cause := context.Cause(workCtx); cause != nil {
		err = cause
	}
	cancel(nil)
	renewing.Wait()
	return err
}

// renew renews the lease until ctx is done. It returns an error if the lease is no longer held.
func (l *Lease) renew(ctx context.Context, since time.Time) error {
	err := Keep(ctx, l.hold/renewalsPerHold, l.hold, since, func(ctx context.Context) (bool, error) {
		held, err := l.acquire(ctx, l.hold)
		return held || err != nil, err
	})
	if errors.Is(err, ErrExpired) {
		err = fmt.Errorf("the lease %s has run out: %w", l.name, err)
	}
	return err
}

// Keep calls renew at intervals until ctx is done, and then returns nil. Otherwise the work must end, and Keep returns
// why. If renew reports that the claim is lost, that is its error, ErrLost without one. Other errors are tried again
// while the claim is valid, which it is for a time since the last call of renew without an error began; then the error
// is ErrExpired.
func Keep(
	ctx context.Context, interval, valid time.Duration, since time.Time,
	renew func(context.Context) (held bool, err error),
) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for until := since.Add(valid); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		start := time.Now()
		requestCtx, cancel := context.WithDeadline(ctx, until)
		held, err := renew(requestCtx)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case !held && err != nil:
			return err
		case !held:
			return ErrLost
		case err == nil:
			until = start.Add(valid)
		case !time.Now().Before(until):
			return fmt.Errorf("%w: %w", ErrExpired, err)
		}
	}
}

// Hold extends the lease for a time without work, so that all processes together do the work
// once in that time.
func (l *Lease) Hold(ctx context.Context, rest time.Duration) error {
	_, err := l.acquire(ctx, max(rest, l.hold))
	return err
}

// Release releases the lease, so that another process can take over the work immediately. If
// Release fails, the lease expires.
func (l *Lease) Release(ctx context.Context) error {
	if l.renewed = (time.Time{}); !l.requested {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return l.store.ReleaseLease(ctx, l.name, l.holder)
}

// acquire requests the lease. When ctx is cancelled, it waits a little for the result: a cancelled request may still be
// executed, after the release that follows, and then nobody could take over the work until the lease expires.
func (l *Lease) acquire(ctx context.Context, hold time.Duration) (bool, error) {
	cancelled := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(cancelled))
	defer cancel()
	if until, ok := cancelled.Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	defer context.AfterFunc(cancelled, func() { time.AfterFunc(releaseTimeout, cancel) })()
	held, err := l.store.AcquireLease(ctx, l.name, l.holder, hold)
	return held && err == nil, err
}
