// Package lease lets one process at a time do a piece of work.
//
// Anyone who holds a lease renews it while it works; when a process dies its lease runs out
// and another takes the work over. Times are counted from before the store is asked, so
// that a process stops, by its own clock, no later than the store lets another begin.
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
	// renewals is how often a lease is renewed in the time that it holds, so that one
	// renewal that fails does no harm.
	renewals = 3
	// longestAge is how old a lease is at most before Take renews it.
	longestAge = 20 * time.Second
	// releaseTime bounds giving a lease back: a process that ends does not wait for a store.
	releaseTime = time.Second
)

// Why work under a lease does not go on.
var (
	ErrElsewhere = errors.New("another process does this work")
	ErrLost      = errors.New("another process has taken this work over")
)

// Store keeps the leases of all processes.
type Store interface {
	// TakeLease makes the holder the one who does the named work until the time given is
	// over, and reports whether it is: not while another holds it. To take one that one
	// has is to renew it.
	TakeLease(ctx context.Context, name string, holder uuid.UUID, hold time.Duration) (bool, error)
	// GiveLease lets go of a lease, if the holder has it.
	GiveLease(ctx context.Context, name string, holder uuid.UUID) error
}

// Lease is one process's claim on a piece of work. It is for one goroutine.
type Lease struct {
	store   Store
	name    string
	holder  uuid.UUID
	hold    time.Duration
	renewed time.Time // zero: it is not known to be held
	asked   bool
}

// New creates a lease that is not held yet. hold is how long the work of a process that
// died waits for another.
func New(store Store, name string, hold time.Duration) *Lease {
	return &Lease{store: store, name: name, holder: uuid.New(), hold: hold}
}

// Take takes the lease, or renews it unless that was done shortly before, and reports
// whether it is held. It is asked before each step of work whose steps are shorter than
// two thirds of the time that the lease holds.
func (l *Lease) Take(ctx context.Context) (bool, error) {
	now := time.Now()
	if !l.renewed.IsZero() && now.Sub(l.renewed) < min(longestAge, l.hold/renewals) {
		return true, nil
	}
	l.asked = true
	held, err := l.take(ctx, l.hold)
	if l.renewed = (time.Time{}); held {
		l.renewed = now
	}
	return held, err
}

// Check is Take for the steps of work that has begun: it fails if the lease is not held.
func (l *Lease) Check(ctx context.Context) error {
	held, err := l.Take(ctx)
	if err == nil && !held {
		err = ErrLost
	}
	return err
}

// While does work of any length and renews the lease meanwhile. The work's context is
// done when the lease is lost, or has run out because it could not be renewed; the error
// then says so. ErrElsewhere: another process does the work, and it was not begun.
func (l *Lease) While(ctx context.Context, work func(context.Context) error) error {
	until := time.Now().Add(l.hold)
	l.asked = true
	held, err := l.take(ctx, l.hold)
	if err != nil {
		return err
	}
	if !held {
		return ErrElsewhere
	}
	working, end := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { end(l.keep(working, until)) })
	err = work(working)
	if cause := context.Cause(working); cause != nil {
		err = cause
	}
	end(nil)
	renewing.Wait()
	return err
}

// keep renews the lease until ctx is done. It returns why it is held no longer.
func (l *Lease) keep(ctx context.Context, until time.Time) error {
	tick := time.NewTicker(l.hold / renewals)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		asked := time.Now()
		asking, cancel := context.WithDeadline(ctx, until)
		held, err := l.take(asking, l.hold)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && held:
			until = asked.Add(l.hold)
		case err == nil:
			return ErrLost
		case !time.Now().Before(until):
			return fmt.Errorf("the lease %s has run out: %w", l.name, err)
		}
	}
}

// Rest keeps the lease for a time in which there is nothing to do, so that the work is
// done once in that time by all processes together.
func (l *Lease) Rest(ctx context.Context, rest time.Duration) error {
	_, err := l.take(ctx, max(rest, l.hold))
	return err
}

// Release lets another process do the work at once. If it fails the lease runs out by
// itself.
func (l *Lease) Release(ctx context.Context) error {
	if l.renewed = (time.Time{}); !l.asked {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return l.store.GiveLease(ctx, l.name, l.holder)
}

func (l *Lease) take(ctx context.Context, hold time.Duration) (bool, error) {
	held, err := l.store.TakeLease(ctx, l.name, l.holder, hold)
	return held && err == nil, err
}
