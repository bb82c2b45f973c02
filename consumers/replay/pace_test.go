package replay

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// waitTime returns how long a batch waits for the pace.
func waitTime(p *pace, rows int) time.Duration {
	began := time.Now()
	p.wait(rows)
	return time.Since(began)
}

func TestAReplayYieldsToLiveWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := false
		p := newPace(t.Context(), jobs.Replay{}, func() bool { return busy })
		p.storeTime.Store(int64(time.Second))
		require.Zero(t, waitTime(p, 1000))
		busy = true
		require.Equal(t, 4*time.Second, waitTime(p, 1000), "a quarter of the time")
		p.storeTime.Store(int64(time.Hour))
		require.Equal(t, maxYield, waitTime(p, 1000), "but it goes on")
	})
}

func TestAReplayKeepsToItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := int64(1000)
		p := newPace(t.Context(), jobs.Replay{MaxRows: &rate}, func() bool { return false })
		require.Zero(t, waitTime(p, 500))
		require.Equal(t, 500*time.Millisecond, waitTime(p, 2000))
		require.Equal(t, 2*time.Second, waitTime(p, 1))
		time.Sleep(time.Minute)
		require.Zero(t, waitTime(p, 1000), "what was not used is not made up for")
		require.Equal(t, time.Second, waitTime(p, 1))
	})
}

func TestARunThatEndsIsNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := int64(1)
		run, end := context.WithCancel(t.Context())
		p := newPace(run, jobs.Replay{MaxRows: &rate}, func() bool { return true })
		p.storeTime.Store(int64(time.Minute))
		p.wait(1000)
		time.AfterFunc(time.Second, end)
		require.Equal(t, time.Second, waitTime(p, 1000))
		require.Zero(t, waitTime(p, 1000))
	})
}

// timedBatch is a batch that records when it is prepared and stored.
type timedBatch struct {
	consumers.Batch
	prepared, stored time.Time
}

func (b *timedBatch) Rows() int                     { return 1 }
func (b *timedBatch) Prepare(context.Context) error { b.prepared = time.Now(); return nil }
func (b *timedBatch) Store(context.Context) error   { b.stored = time.Now(); return nil }

func TestABatchIsComparedWithWhatWasDeletedBehindItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := int64(1)
		p := newPace(t.Context(), jobs.Replay{MaxRows: &rate}, func() bool { return false })
		began := time.Now()
		for n := range 3 {
			b := &timedBatch{}
			limited := &pacedBatch{Batch: b, pace: p}
			require.NoError(t, limited.Prepare(t.Context()))
			require.NoError(t, limited.Prepare(t.Context()), "again, when it failed")
			require.NoError(t, limited.Store(t.Context()))
			require.Equal(t, time.Duration(n)*time.Second, b.prepared.Sub(began))
			require.Equal(t, b.prepared, b.stored)
		}
	})
}

// TestHalvesOfABatchKeepToTheRateTogether prepares halves in several goroutines, as those that
// store do.
func TestHalvesOfABatchKeepToTheRateTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := int64(1000)
		calls := 0 // by one goroutine at a time
		p := newPace(t.Context(), jobs.Replay{MaxRows: &rate}, func() bool { calls++; return false })
		began := time.Now()
		var halves sync.WaitGroup
		for range 10 {
			halves.Go(func() { p.wait(100) })
		}
		halves.Wait()
		require.Equal(t, 900*time.Millisecond, time.Since(began))
		require.Equal(t, 11, calls)
	})
}
