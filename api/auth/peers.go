package auth

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// revisionChannel carries auth revisions between processes; see redis.Revisions. Messages may
// be lost. Times are of the clock of Postgres, so that the clocks of two processes are never
// compared.
type revisionChannel interface {
	Send(ctx context.Context, revision int64, at time.Time) error
	// Listen calls onRevision for each received revision until ctx is done.
	Listen(ctx context.Context, onRevision func(revision int64, at time.Time)) error
}

// UseChannel makes the authenticator exchange revisions with other processes through a second
// channel. It must be called before Run.
func (a *Authenticator) UseChannel(c revisionChannel) { a.peers = newPeers(c) }

// peers exchanges revisions with the other processes. A revision that another process read
// from Postgres confirms the cache like one that this process read, provided that the time
// of the read is known.
type peers struct {
	channel      revisionChannel
	sendToken    chan struct{}                // holds a token while nothing is being sent
	lastReceived atomic.Pointer[report]       // the last received one
	clock        atomic.Pointer[clockReading] // nil: this process has not read from Postgres yet
	received     atomic.Int64                 // number of received reports
}

// report is a revision that another process read at a time.
type report struct {
	revision int64
	at       time.Time
}

// clockReading relates the clock of Postgres to the local one: when it showed store, the
// local one showed local or later.
type clockReading struct{ local, store time.Time }

func newPeers(c revisionChannel) *peers {
	p := &peers{channel: c, sendToken: make(chan struct{}, 1)}
	p.sendToken <- struct{}{}
	return p
}

// run starts to receive revisions until ctx is done. The returned function waits for its end.
func (p *peers) run(ctx context.Context, a *Authenticator) (wait func()) {
	if p == nil {
		return func() {}
	}
	var listening sync.WaitGroup
	listening.Go(func() {
		if err := p.channel.Listen(ctx, func(revision int64, at time.Time) {
			p.receive(a, revision, at)
		}); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "receiving the auth revisions of other processes failed", "error", err)
		}
	})
	return func() {
		listening.Wait()
		<-p.sendToken
	}
}

// receive processes a report of another process. The time at which the report counts as true
// is never after its receipt, whatever the clocks show.
func (p *peers) receive(a *Authenticator, revision int64, at time.Time) {
	p.received.Add(1)
	p.lastReceived.Store(&report{revision: revision, at: at})
	var asOf time.Time // unknown: the revision is recorded, but confirms nothing
	if known := p.clock.Load(); known != nil {
		asOf = known.local.Add(at.Sub(known.store))
		if now := time.Now(); asOf.After(now) {
			asOf = now
		}
	}
	a.Confirm(revision, asOf)
}

// publish sends the revision that was read at a time, unless another process has just sent
// the same or a higher one. It does not block, because it must not delay the next poll.
func (p *peers) publish(ctx context.Context, revision int64, at, local time.Time) {
	if p == nil {
		return
	}
	p.clock.Store(&clockReading{local: local, store: at})
	if last := p.lastReceived.Load(); last != nil && last.revision >= revision && at.Sub(last.at) < pollInterval/2 {
		return
	}
	select {
	case <-p.sendToken:
	default:
		return
	}
	go func() {
		defer func() { p.sendToken <- struct{}{} }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		if err := p.channel.Send(ctx, revision, at); err != nil {
			slog.DebugContext(ctx, "sending the auth revision to other processes failed", "error", err)
		}
	}()
}
