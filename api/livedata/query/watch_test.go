package query

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// fakeWatermarks are watermarks that a test sets; it counts the reads.
type fakeWatermarks struct {
	reads atomic.Int64
	next  atomic.Int64
	err   atomic.Pointer[error]
	delay time.Duration
}

func (m *fakeWatermarks) Watermarks(ctx context.Context, _ [16]byte) (map[int32]int64, error) {
	m.reads.Add(1)
	if m.delay > 0 {
		select {
		case <-time.After(m.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := m.err.Load(); err != nil {
		return nil, *err
	}
	return map[int32]int64{3: m.next.Load()}, nil
}

func positionAt(offset int64) []pointblock.Position {
	return []pointblock.Position{{Partition: 3, Offset: offset}}
}

func TestAllWhoWaitShareTheReading(t *testing.T) {
	store := &fakeWatermarks{}
	w := &watcher{store: store}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var group errgroup.Group
	for range 200 {
		group.Go(func() error { return w.wait(ctx, [16]byte{1}, positionAt(7)) })
	}
	time.Sleep(200 * time.Millisecond)
	store.next.Store(8)
	require.NoError(t, group.Wait())
	require.Less(t, store.reads.Load(), int64(40), "not one reading each")
	reads := store.reads.Load()
	require.NoError(t, w.wait(ctx, [16]byte{1}, positionAt(5)))
	require.Equal(t, reads, store.reads.Load(), "what is known to be visible needs no reading")
	time.Sleep(3 * watchInterval)
	require.Equal(t, reads, store.reads.Load(), "nobody waits, nobody reads")
}

func TestWaitingEndsWithItsDeadlineWhateverTheStoreDoes(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Minute} {
		w := &watcher{store: &fakeWatermarks{delay: delay}}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := w.wait(ctx, [16]byte{1}, positionAt(7))
		cancel()
		require.Equal(t, fault.Timeout, fault.KindOf(err))
	}
}

func TestAReaderThatLeavesDoesNotFailTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeWatermarks{delay: 30 * time.Millisecond}
		store.next.Store(8)
		w := &watcher{store: store}
		leaving, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- w.wait(leaving, [16]byte{1}, positionAt(7)) }()
		time.Sleep(5 * time.Millisecond) // the read has begun
		stayed := make(chan error, 1)
		go func() { stayed <- w.wait(t.Context(), [16]byte{1}, positionAt(7)) }()
		time.Sleep(5 * time.Millisecond)
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		require.NoError(t, <-stayed)
	})
}

func TestAStoreThatFailsFailsTheWait(t *testing.T) {
	store := &fakeWatermarks{}
	failure := error(fault.Wrap(errors.New("down"), fault.Unavailable, "The database is not available"))
	store.err.Store(&failure)
	err := (&watcher{store: store}).wait(t.Context(), [16]byte{1}, positionAt(7))
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
}

func TestAnotherTopicsWatermarksMeanNothing(t *testing.T) {
	store := &fakeWatermarks{}
	store.next.Store(100)
	w := &watcher{store: store}
	require.NoError(t, w.wait(t.Context(), [16]byte{1}, positionAt(7)))
	require.False(t, w.visible([16]byte{2}, positionAt(7)))
}
