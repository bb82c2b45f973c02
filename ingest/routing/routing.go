// Package routing keeps the route by which this process divides points among the
// partitions of their topic.
//
// A route is leased in Postgres: a new one is leased to nobody while anybody may still
// send by an earlier one. So anyone who was answered, and then sends again through any
// process, sends by the same route or a later one, and what is sent by a later route
// has higher versions (docs/adr/0049-routes-of-points.md). The package decides when a
// route may be used; it reads and writes no topic.
package routing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

const (
	// leaseTime is how long after a process was lost the others wait for it before they
	// divide points another way.
	leaseTime = 5 * time.Second
	// leaseUse is the part of it in which the process uses the lease: clocks that do not
	// go equally fast do no harm.
	leaseUse = leaseTime * 4 / 5
	// renewEvery and retryEvery are how often the lease is renewed, and asked for while
	// there is none.
	renewEvery = time.Second
	retryEvery = 100 * time.Millisecond
	// waitLimit is the longest that Route waits for a lease.
	waitLimit = 5 * time.Second
	// turnLimit bounds one question to the registry.
	turnLimit = 2 * time.Second
)

// leases is where routes are leased.
type leases interface {
	// HoldRoute leases the newest route of a topic, unless the holder uses an earlier one
	// or another has a lease of one. using is the number of the route that it uses, 0 for
	// none.
	HoldRoute(
		ctx context.Context, topic string, holder uuid.UUID, using int64, hold time.Duration,
	) (newest pointblock.Route, held bool, err error)
	// LeaveRoute releases the lease.
	LeaveRoute(ctx context.Context, topic string, holder uuid.UUID) error
}

// Deps are what a Keeper works with.
type Deps struct {
	Leases leases
	Topic  string // under which routes are recorded
	// Seen returns the id and the number of partitions of the topic as this process
	// produces to it.
	Seen   func() (id [16]byte, partitions int32)
	Logger *slog.Logger // nil: slog.Default()
}

// Keeper keeps the lease of a process. It may be used by many goroutines.
type Keeper struct {
	deps   Deps
	holder uuid.UUID

	turns sync.Mutex // held while the registry is asked
	asked time.Time  // when it was

	mu    sync.Mutex
	route pointblock.Route // of the lease; the zero value: none is used
	until time.Time        // when the process stops using it
}

// New creates a Keeper. Run keeps its lease while nobody asks for a route.
func New(deps Deps) *Keeper {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	return &Keeper{deps: deps, holder: uuid.New()}
}

// Route returns the route by which points that are accepted now are sent. It waits for a
// lease, 5 s at most, and is Unavailable if there is none by then.
func (k *Keeper) Route(ctx context.Context) (pointblock.Route, error) {
	route, ok := k.current(time.Now())
	if ok {
		return route, nil
	}
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		err := k.turn(ctx, retryEvery)
		if route, ok = k.current(time.Now()); ok {
			return route, nil
		}
		select {
		case <-ctx.Done():
			return pointblock.Route{}, fault.New(fault.Unavailable, "How points are divided among partitions is being changed").
				After(time.Second).Because(err)
		case <-time.After(retryEvery):
		}
	}
}

// Run keeps the lease until ctx is done, gives it back and returns nil.
func (k *Keeper) Run(ctx context.Context) error {
	failing := false
	for ctx.Err() == nil {
		err := k.turn(ctx, 0)
		if failed := err != nil && ctx.Err() == nil; failed != failing { // once, not each second
			failing = failed
			if failed {
				k.deps.Logger.WarnContext(ctx, "the route of points cannot be leased", "error", err)
			}
		}
		wait := renewEvery
		if _, ok := k.current(time.Now()); !ok {
			wait = retryEvery
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	k.leave(ctx)
	return nil
}

// current returns the route of the lease if it may be used at a moment.
func (k *Keeper) current(now time.Time) (pointblock.Route, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// By the wall clock, too: the other one stands still while a machine sleeps.
	ok := k.route.Number > 0 && now.Before(k.until) && now.Round(0).Before(k.until.Round(0))
	return k.route, ok
}

// turn asks for the lease once, and once more after it has stopped using an earlier route;
// not if that was done less than a time ago.
func (k *Keeper) turn(ctx context.Context, pause time.Duration) error {
	k.turns.Lock()
	defer k.turns.Unlock()
	if time.Since(k.asked) < pause {
		return nil
	}
	for {
		k.asked = time.Now()
		k.mu.Lock()
		using := k.route.Number
		k.mu.Unlock()
		again, err := k.ask(ctx, using)
		if err != nil || !again {
			return err
		}
	}
}

// ask asks for the lease of the newest route while one is used, 0 for none, and reports
// whether it has to ask again because it uses none any more.
func (k *Keeper) ask(ctx context.Context, using int64) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	asked := time.Now()
	newest, held, err := k.deps.Leases.HoldRoute(ctx, k.deps.Topic, k.holder, using, leaseTime)
	if err != nil {
		return false, err // the lease goes on until its time is over
	}
	id, partitions := k.deps.Seen()
	usable := held && newest.TopicID == id && newest.Partitions == partitions
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case usable:
		if k.route != newest {
			k.deps.Logger.InfoContext(ctx, "points are divided among partitions",
				"partitions", newest.Partitions, "route", newest.Number)
		}
		k.route, k.until = newest, asked.Add(leaseUse)
	case newest.Number != using:
		// Not used from here on, which the next question says.
		k.route = pointblock.Route{}
		return using != 0, nil
	}
	return false, nil
}

// leave releases the lease.
func (k *Keeper) leave(ctx context.Context) {
	k.turns.Lock()
	defer k.turns.Unlock()
	k.mu.Lock()
	k.route = pointblock.Route{}
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnLimit)
	defer cancel()
	if err := k.deps.Leases.LeaveRoute(ctx, k.deps.Topic, k.holder); err != nil {
		k.deps.Logger.WarnContext(ctx, "the route of points is given back when its time is over", "error", err)
	}
}
