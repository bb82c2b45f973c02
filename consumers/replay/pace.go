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
	// yieldFactor is the ratio of the wait before a batch to the time that storing the last batch
	// took, while there is live work. A replay then uses at most a quarter of the time.
	yieldFactor = 4
	// maxYield limits one wait.
	maxYield = 10 * time.Second
)

// pace limits the rate of a replay. Several goroutines may use it: one prepares batches, but
// goroutines that store also prepare the halves of a batch that was rejected.
type pace struct {
	run     context.Context //nolint:containedctx // when it is done, nothing waits any longer
	waiting chan struct{}   // capacity 1: only one goroutine waits for the rate at a time
	busy    func() bool

	maxRows     float64      // per second; 0: unlimited
	nextAllowed time.Time    // time at which the rows allowed so far are within maxRows
	storeTime   atomic.Int64 // nanoseconds that storing the last batch took
	live        atomic.Bool  // last result of busy
	exclusive   sync.RWMutex // locked for writing by a batch that must be stored alone
}

func newPace(run context.Context, job jobs.Replay, busy func() bool) *pace {
	p := &pace{run: run, waiting: make(chan struct{}, 1), busy: busy}
	p.live.Store(busy())
	if job.MaxRows != nil {
		p.maxRows = float64(*job.MaxRows)
	}
	return p
}

// wait waits until a number of rows may be stored. The previous batch may still be being stored.
func (p *pace) wait(rows int) {
	p.waiting <- struct{}{} // released soon when the run is done
	defer func() { <-p.waiting }()
	p.live.Store(p.busy())
	if p.live.Load() {
		sleep.For(p.run, min(yieldFactor*time.Duration(p.storeTime.Load()), maxYield))
	}
	if p.maxRows == 0 {
		return
	}
	sleep.For(p.run, max(time.Until(p.nextAllowed), 0))
	if now := time.Now(); p.nextAllowed.Before(now) {
		p.nextAllowed = now
	}
	p.nextAllowed = p.nextAllowed.Add(time.Duration(float64(rows) / p.maxRows * float64(time.Second)))
}

// pacedBatch is a batch that is prepared and stored when the pace allows it. It waits before
// Prepare compares it with tombstones: if it waited afterwards, it would temporarily store points
// that were deleted during the wait.
type pacedBatch struct {
	consumers.Batch
	pace   *pace
	waited bool
}

// Prepare waits for the pace, and prepares the batch.
func (b *pacedBatch) Prepare(ctx context.Context) error {
	if !b.waited {
		b.pace.wait(b.Rows())
		b.waited = true
	}
	return b.Batch.Prepare(ctx)
}

// Store stores the batch and measures the time. While there is live work, no other batch is
// stored at the same time.
func (b *pacedBatch) Store(ctx context.Context) error {
	if b.pace.live.Load() {
		b.pace.exclusive.Lock()
		defer b.pace.exclusive.Unlock()
	} else {
		b.pace.exclusive.RLock()
		defer b.pace.exclusive.RUnlock()
	}
	began := time.Now()
	defer func() { b.pace.storeTime.Store(int64(time.Since(began))) }()
	return b.Batch.Store(ctx)
}
