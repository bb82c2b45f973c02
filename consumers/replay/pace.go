package replay

import (
	"context"
	"time"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// yields is how many times as long as it stored a replay stands back while others
	// are behind: it has a third of the time then.
	yields = 2
	// busyLook is how often it is looked meanwhile whether they still are.
	busyLook = 10 * time.Millisecond
	// yieldLimit bounds one wait.
	yieldLimit = 5 * time.Second
)

// pace holds a replay back. It belongs to the goroutine that stores.
type pace struct {
	busy    func() bool
	maxRows float64   // a second; 0: unbounded
	free    time.Time // when what was stored so far is within maxRows
	took    time.Duration
}

func newPace(job postgres.Replay, busy func() bool) *pace {
	p := &pace{busy: busy}
	if job.MaxRows != nil {
		p.maxRows = float64(*job.MaxRows)
	}
	return p
}

// wait waits until so many rows may be stored.
func (p *pace) wait(ctx context.Context, rows int) error {
	until := time.Now().Add(min(yields*p.took, yieldLimit))
	for p.busy() && time.Now().Before(until) {
		if err := sleep(ctx, busyLook); err != nil {
			return err
		}
	}
	if p.maxRows == 0 {
		return nil
	}
	if err := sleep(ctx, time.Until(p.free)); err != nil {
		return err
	}
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(rows) / p.maxRows * float64(time.Second)))
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// paced is a batch that is stored when the pace allows.
type paced struct {
	consumers.Batch
	pace   *pace
	waited bool
}

// Store waits and stores.
func (b *paced) Store(ctx context.Context) error {
	if !b.waited {
		if err := b.pace.wait(ctx, b.Rows()); err != nil {
			return err
		}
		b.waited = true
	}
	began := time.Now()
	defer func() { b.pace.took = time.Since(began) }()
	return b.Batch.Store(ctx)
}
