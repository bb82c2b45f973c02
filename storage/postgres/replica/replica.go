// Package replica reads the graph on a streaming replica of Postgres when that gives the answer of the primary.
//
// Before each read, the sequence of the workspace's newest change is read on the primary, for many reads in one
// statement. The replica answers the read if it has replayed the log up to a position at which the primary had that
// sequence. So a read sees each change that was committed before the read began, by any client and process. All other
// reads are answered by the primary: those of workspaces whose newest change the replica does not have yet, all reads
// while the replica is unavailable, lags too much or was promoted, and those that fail on it.
//
// The package decides nothing else: keys, limits, commands and their outcomes are never read on a replica.
package replica

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/livegraph/livegraph/internal/platform/outage"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

const (
	// pollInterval is how often the positions of both servers are read.
	pollInterval = 100 * time.Millisecond
	// pollTimeout is the time after which a server that does not answer counts as unavailable.
	pollTimeout = time.Second
	// forgetInterval is how often another server is looked for while the replica is unavailable.
	forgetInterval = time.Second
	// maxMarks is the maximum number of workspaces whose position is remembered. The reads of others are answered
	// by the primary once more.
	maxMarks = 100_000
)

// Options are the options of a Router.
type Options struct {
	Primary *postgres.DB  // for small statements; not shared with slow ones
	Replica *postgres.DB  // see postgres.AsReplica
	MaxLag  time.Duration // above it, the primary answers all reads
	Logger  *slog.Logger
	Metrics *Metrics
}

// Router decides for each read whether the replica can answer it.
type Router struct {
	primary, replica *postgres.DB
	graph            *graphread.Store // on the replica
	maxLag           time.Duration
	log              *slog.Logger
	metrics          *Metrics
	heads            *headReader
	marks            *otter.Cache[uuid.UUID, mark]
	state            atomic.Pointer[state]
}

// mark is a position in the log at which the primary had a sequence of a workspace.
type mark struct {
	sequence int64
	position
}

// state is what is known of the replica.
type state struct {
	reason   string // why it must not be used; empty: it can be used
	replayed position
	// ctx is done when the replica must not be used any more. Reads in progress end then.
	ctx    context.Context //nolint:containedctx // of the time in which the replica is used, not of a call
	cancel context.CancelFunc
}

// New creates a Router. The primary answers all reads until Run observes the replica.
func New(o Options) *Router {
	r := &Router{
		primary: o.Primary, replica: o.Replica, graph: graphread.New(o.Replica), maxLag: o.MaxLag, log: o.Logger,
		metrics: o.Metrics, heads: newHeadReader(),
		marks: otter.Must(&otter.Options[uuid.UUID, mark]{MaximumSize: maxMarks}),
	}
	r.state.Store(&state{reason: reasonUnavailable, cancel: func() {}})
	return r
}

// Run observes both servers until ctx is done.
func (r *Router) Run(ctx context.Context) error {
	var heads sync.WaitGroup
	heads.Go(func() { r.heads.run(ctx, r.primary) })
	defer heads.Wait()
	defer r.stopUsing(reasonUnavailable)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	o := &observer{primary: r.primary, replica: r.replica, maxLag: r.maxLag}
	outages := outage.Log{
		Failed:    "the replica of Postgres is not used: the primary answers all reads",
		Recovered: "the replica of Postgres answers reads",
	}
	for forgotten := (time.Time{}); ; {
		if time.Since(forgotten) > forgetInterval && r.state.Load().reason == reasonUnavailable {
			r.replica.ForgetServer() // no read uses a connection now
			forgotten = time.Now()
		}
		replayed, err := o.observe(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errUnknown) {
			outages.Note(ctx, r.log, err)
		}
		r.metrics.lag.Set(o.lag(time.Now()).Seconds())
		if err != nil {
			r.stopUsing(reasonOf(err))
		} else {
			r.use(replayed)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// use makes the replica answer the reads that require at most the replayed position.
func (r *Router) use(replayed position) {
	next := *r.state.Load()
	if next.replayed = replayed; next.reason != "" {
		next.reason = ""
		next.ctx, next.cancel = context.WithCancel(context.Background())
	}
	r.state.Store(&next)
}

// stopUsing makes the primary answer all reads, also those that the replica answers at the moment.
func (r *Router) stopUsing(reason string) {
	last := r.state.Swap(&state{reason: reason, cancel: func() {}})
	last.cancel()
}

// choose returns the state of the replica if that can answer a read of the workspace, or the reason why it cannot.
func (r *Router) choose(ctx context.Context, workspace uuid.UUID) (usable *state, reason string) {
	if s := r.state.Load(); s.reason != "" {
		return nil, s.reason
	}
	head, err := r.heads.read(ctx, workspace)
	if err != nil {
		return nil, reasonUnavailable
	}
	m, known := r.marks.GetIfPresent(workspace)
	if !known || m.sequence != head.sequence || m.timeline != head.timeline {
		m = head
		r.marks.Set(workspace, m)
	}
	s := r.state.Load()
	switch {
	case s.reason != "":
		return nil, s.reason
	case !s.replayed.includes(m.position):
		return nil, reasonBehind
	}
	return s, ""
}
