package replay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

const (
	// yields is how many times as long as a batch took to store lies between that and the
	// next while there is live work: a replay has a quarter of the time then.
	yields = 4
	// yieldLimit bounds one wait.
	yieldLimit = 10 * time.Second
)

// pace holds a replay back. It may be used by several goroutines: batches are prepared by
// one, but halves of a batch that was refused by those that store.
type pace struct {
	run  context.Context //nolint:containedctx // when it is done, nothing is held back any more
	turn chan struct{}   // has room for one, who waits: the others come after it
	busy func() bool

	maxRows float64      // a second; 0: unbounded
	free    time.Time    // when what was let through so far is within maxRows
	took    atomic.Int64 // nanoseconds that the last batch took to store
	live    atomic.Bool  // busy, when it was asked last
	beside  sync.RWMutex // is held for writing by a batch that is stored beside no other
}

func newPace(run context.Context, job jobs.Replay, busy func() bool) *pace {
	p := &pace{run: run, turn: make(chan struct{}, 1), busy: busy}
	p.live.Store(busy())
	if job.MaxRows != nil {
		p.maxRows = float64(*job.MaxRows)
	}
	return p
}

// wait waits until so many rows may be stored. The batch before them may just be.
func (p *pace) wait(rows int) {
	p.turn <- struct{}{} // nobody has it for long when the run is done
	defer func() { <-p.turn }()
	p.live.Store(p.busy())
	if p.live.Load() {
		sleep.For(p.run, min(yields*time.Duration(p.took.Load()), yieldLimit))
	}
	if p.maxRows == 0 {
		return
	}
	sleep.For(p.run, max(time.Until(p.free), 0))
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(rows) / p.maxRows * float64(time.Second)))
}

// paced is a batch that is prepared and stored when the pace allows. It waits before it is
// compared with what was deleted: behind a long wait it would store, for a moment, what is gone.
type paced struct {
	consumers.Batch
	pace   *pace
	waited bool
}

// Full reports whether the batch has enough by its own measure.
func (b *paced) Full() bool { return consumers.Full(b.Batch) }

// Prepare waits and prepares.
func (b *paced) Prepare(ctx context.Context) error {
	if !b.waited {
		b.pace.wait(b.Rows())
		b.waited = true
	}
	return b.Batch.Prepare(ctx)
}

// Store stores, and takes the time: beside no other batch while there is live work.
func (b *paced) Store(ctx context.Context) error {
	if b.pace.live.Load() {
		b.pace.beside.Lock()
		defer b.pace.beside.Unlock()
	} else {
		b.pace.beside.RLock()
		defer b.pace.beside.RUnlock()
	}
	began := time.Now()
	defer func() { b.pace.took.Store(int64(time.Since(began))) }()
	return b.Batch.Store(ctx)
}
