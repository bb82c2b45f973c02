package auth

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// channel carries auth revisions between processes; see redis.Revisions. Whatever is
// sent may be lost. At is of the clock of Postgres, so that no two clocks of processes
// are compared.
type channel interface {
	Send(ctx context.Context, revision int64, at time.Time) error
	// Hear listens until ctx is done.
	Hear(ctx context.Context, hear func(revision int64, at time.Time)) error
}

// Through has the authenticator tell other processes of the revision by a second
// channel, and believe what they tell. Call it before Run.
func (a *Authenticator) Through(c channel) { a.others = newOthers(c) }

// others are the other processes: what they read of Postgres is as good as what this one
// reads, as long as it is known when that was.
type others struct {
	channel channel
	sending chan struct{}          // holds a token while nothing is being sent
	told    atomic.Pointer[told]   // the last that was heard
	anchor  atomic.Pointer[anchor] // nil: this process has not read Postgres yet
	heard   atomic.Int64           // reports
}

type told struct {
	revision int64
	at       time.Time
}

// anchor relates the clock of Postgres to ours: when it showed store, ours showed local
// or later.
type anchor struct{ local, store time.Time }

func newOthers(c channel) *others {
	o := &others{channel: c, sending: make(chan struct{}, 1)}
	o.sending <- struct{}{}
	return o
}

// run listens until ctx is done; the caller waits for its end by the function that it
// gives.
func (o *others) run(ctx context.Context, a *Authenticator) (wait func()) {
	if o == nil {
		return func() {}
	}
	var listening sync.WaitGroup
	listening.Go(func() {
		if err := o.channel.Hear(ctx, func(revision int64, at time.Time) {
			o.hear(a, revision, at)
		}); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "other processes' auth revision is not listened for", "error", err)
		}
	})
	return func() {
		listening.Wait()
		<-o.sending
	}
}

// hear believes what another process tells. The time that it is true at is never after
// that of the hearing, whatever the clocks show.
func (o *others) hear(a *Authenticator, revision int64, at time.Time) {
	o.heard.Add(1)
	o.told.Store(&told{revision: revision, at: at})
	var asOf time.Time // it is not known: the revision counts, but not as a sign of life
	if known := o.anchor.Load(); known != nil {
		asOf = known.local.Add(at.Sub(known.store))
		if now := time.Now(); asOf.After(now) {
			asOf = now
		}
	}
	a.Confirm(revision, asOf)
}

// tell reports what was read at a time, unless somebody has just told as much. It does not
// wait: the next poll must not come late.
func (o *others) tell(ctx context.Context, revision int64, at, local time.Time) {
	if o == nil {
		return
	}
	o.anchor.Store(&anchor{local: local, store: at})
	if last := o.told.Load(); last != nil && last.revision >= revision && at.Sub(last.at) < pollInterval/2 {
		return
	}
	select {
	case <-o.sending:
	default:
		return
	}
	go func() {
		defer func() { o.sending <- struct{}{} }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		if err := o.channel.Send(ctx, revision, at); err != nil {
			slog.DebugContext(ctx, "the auth revision is not told to other processes", "error", err)
		}
	}()
}
