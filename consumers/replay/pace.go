package replay

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/pause"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// yields is how many times as long as it stored a replay stands back while there is
	// live work: it has a quarter of the time then.
	yields = 3
	// yieldLimit bounds one wait.
	yieldLimit = 10 * time.Second
)

// pace holds a replay back. It belongs to the goroutine that stores.
type pace struct {
	run     context.Context // when it is done, nothing is held back any more
	busy    func() bool
	maxRows float64   // a second; 0: unbounded
	free    time.Time // when what was stored so far is within maxRows
	took    time.Duration
	live    atomic.Bool // busy, when it was asked last
}

func newPace(run context.Context, job postgres.Replay, busy func() bool) *pace {
	p := &pace{run: run, busy: busy}
	p.live.Store(busy())
	if job.MaxRows != nil {
		p.maxRows = float64(*job.MaxRows)
	}
	return p
}

// wait waits until so many rows may be stored.
func (p *pace) wait(rows int) {
	p.live.Store(p.busy())
	if p.live.Load() {
		pause.For(p.run, min(yields*p.took, yieldLimit))
	}
	if p.maxRows == 0 {
		return
	}
	pause.For(p.run, max(time.Until(p.free), 0))
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(rows) / p.maxRows * float64(time.Second)))
}

// paced is a batch that is stored when the pace allows.
type paced struct {
	consumers.Batch
	pace   *pace
	waited bool
}

// Full says whether the batch has enough by its own measure.
func (b *paced) Full() bool { return consumers.Full(b.Batch) }

// Store waits and stores.
func (b *paced) Store(ctx context.Context) error {
	if !b.waited {
		b.pace.wait(b.Rows())
		b.waited = true
	}
	began := time.Now()
	defer func() { b.pace.took = time.Since(began) }()
	return b.Batch.Store(ctx)
}
