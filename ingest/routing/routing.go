// Package routing leases the route by which this process assigns points to the
// partitions of their topic.
//
// A route is leased in Postgres. A new route is not leased to any process while a process
// may still use an earlier one. So after a client has received an answer, its next points
// are sent by the same route or a later one through any process, and points of a later
// route have higher versions (docs/adr/0049-routes-of-points.md). The package decides when
// a route may be used. It does not read or write topics.
package routing

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

const (
	// leaseDuration is how long the other processes wait for a lost process before they use
	// a new route.
	leaseDuration = 5 * time.Second
	// usableDuration is how long the process uses a lease. It is shorter than the lease, to
	// tolerate clocks that run at different speeds.
	usableDuration = leaseDuration * 4 / 5
	// renewEvery is the interval of renewals, and retryEvery the interval of requests while
	// the process has no lease.
	renewEvery = time.Second
	retryEvery = 100 * time.Millisecond
	// defaultMaxWait is the default of Deps.MaxWait.
	defaultMaxWait = 5 * time.Second
	// requestTimeout limits one request to the lease store.
	requestTimeout = 2 * time.Second
)

// leaseStore stores the leases of routes.
type leaseStore interface {
	// LeaseRoute leases the newest route of a topic, unless the holder uses an earlier one or
	// another holder has a lease of an earlier one. using is the number of the route that
	// the holder uses, 0 for none.
	LeaseRoute(
		ctx context.Context, topic string, holder uuid.UUID, using int64, hold time.Duration,
	) (newest pointblock.Route, held bool, err error)
	// ReleaseRoute releases the lease.
	ReleaseRoute(ctx context.Context, topic string, holder uuid.UUID) error
}

// Deps are the dependencies of a Lease.
type Deps struct {
	Leases leaseStore
	Topic  string // the topic whose routes are leased
	// Seen returns the id and the number of partitions of the topic in this process's
	// producer.
	Seen func() (id [16]byte, partitions int32)
	// MaxWait is the maximum time that Route waits for a lease; 0: 5 s.
	MaxWait time.Duration
	Logger  *slog.Logger // nil: slog.Default()
}

// Lease renews the lease of a process. It is safe for concurrent use.
type Lease struct {
	deps   Deps
	holder uuid.UUID

	renewMu   sync.Mutex // held during requests to the lease store
	lastRenew time.Time  // start of the last request

	mu    sync.Mutex
	route pointblock.Route // the leased route; the zero value: none
	until time.Time        // end of its use
}

// New creates a Lease. Run renews its lease while no requests come.
func New(deps Deps) *Lease {
	if deps.Logger == nil {
		deps.Logger = slog.Default()
	}
	deps.MaxWait = cmp.Or(deps.MaxWait, defaultMaxWait)
	return &Lease{deps: deps, holder: uuid.New()}
}

// Route returns the route for points that are accepted now. It waits up to Deps.MaxWait for a
// lease, and then returns an Unavailable error.
func (l *Lease) Route(ctx context.Context) (pointblock.Route, error) {
	route, ok := l.current(time.Now())
	if ok {
		return route, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.deps.MaxWait)
	defer cancel()
	for {
		err := l.renew(ctx, retryEvery)
		if route, ok = l.current(time.Now()); ok {
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

// Run renews the lease until ctx is done. It then releases the lease and returns nil.
func (l *Lease) Run(ctx context.Context) error {
	outages := outage.Log{
		Failed: "the route of points cannot be leased", Recovered: "the route of points is leased again",
	}
	for ctx.Err() == nil {
		outages.Note(ctx, l.deps.Logger, l.renew(ctx, 0))
		wait := renewEvery
		if _, ok := l.current(time.Now()); !ok {
			wait = retryEvery
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	l.release(ctx)
	return nil
}

// current returns the leased route, and whether it may be used at the given time.
func (l *Lease) current(now time.Time) (pointblock.Route, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Compare the wall clock, too: the monotonic clock stops while a machine sleeps.
	ok := l.route.Number > 0 && now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
	return l.route, ok
}

// renew requests the lease, and requests it again after the process has stopped using an
// earlier route. It does nothing if the last request began less than minInterval ago.
func (l *Lease) renew(ctx context.Context, minInterval time.Duration) error {
	l.renewMu.Lock()
	defer l.renewMu.Unlock()
	if time.Since(l.lastRenew) < minInterval {
		return nil
	}
	for {
		l.lastRenew = time.Now()
		l.mu.Lock()
		using := l.route.Number
		l.mu.Unlock()
		retry, err := l.requestLease(ctx, using)
		if err != nil || !retry {
			return err
		}
	}
}

// requestLease requests the lease of the newest route. using is the number of the route in
// use, 0 for none. It reports whether to request again because the process has just stopped
// using that route.
func (l *Lease) requestLease(ctx context.Context, using int64) (retry bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	start := time.Now()
	newest, held, err := l.deps.Leases.LeaseRoute(ctx, l.deps.Topic, l.holder, using, leaseDuration)
	if err != nil {
		return false, err // the current lease remains usable until its end
	}
	id, partitions := l.deps.Seen()
	usable := held && newest.TopicID == id && newest.Partitions == partitions
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case usable:
		if l.route != newest {
			l.deps.Logger.InfoContext(ctx, "points are divided among partitions",
				"partitions", newest.Partitions, "route", newest.Number)
		}
		l.route, l.until = newest, start.Add(usableDuration)
	case newest.Number != using:
		// The route is no longer used. The next request reports that.
		l.route = pointblock.Route{}
		return using != 0, nil
	}
	return false, nil
}

// release releases the lease.
func (l *Lease) release(ctx context.Context) {
	l.renewMu.Lock()
	defer l.renewMu.Unlock()
	l.mu.Lock()
	l.route = pointblock.Route{}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if err := l.deps.Leases.ReleaseRoute(ctx, l.deps.Topic, l.holder); err != nil {
		l.deps.Logger.WarnContext(ctx, "the lease of the route of points cannot be released: it expires", "error", err)
	}
}
