package bufferpool

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func mustGet(t *testing.T, l *Pool[string]) string {
	t.Helper()
	buffer, ok := l.Get()
	require.True(t, ok)
	return buffer
}

func TestTheOneThatWasUsedLastIsUsedNext(t *testing.T) {
	l := New[string](100, time.Minute)
	l.Put("first", 10)
	l.Put("second", 20)
	require.Equal(t, 30, l.Size())
	require.Equal(t, "second", mustGet(t, l))
	require.Equal(t, "first", mustGet(t, l))
	require.Zero(t, l.Size())
	_, ok := l.Get()
	require.False(t, ok)
	for _, e := range l.list[:cap(l.list)] {
		require.Zero(t, e, "the list keeps nothing that was taken from it")
	}
}

func TestTheyAreBoundedAndFollowTheSizeOfWhatIsUsed(t *testing.T) {
	l := New[string](1000, time.Minute)
	for range 300 {
		l.Put("small", 10)
		require.LessOrEqual(t, l.Size(), 1000)
	}
	require.Greater(t, l.Len(), 80)
	for range 30 {
		l.Put("large", 100)
		require.LessOrEqual(t, l.Size(), 1000)
	}
	require.GreaterOrEqual(t, l.Len(), 8)
	require.Equal(t, l.Len()*100, l.Size(), "the small ones went, since large ones are used")
	before := l.Len()
	l.Put("huge", 1001)
	require.Equal(t, before, l.Len(), "one that is too large is not kept")
	l.Put("whole", 1000)
	require.Equal(t, "whole", mustGet(t, l))
	require.Zero(t, l.Len())
}

// Buffers that only a busy minute needed are dropped; those in use stay.
func TestThoseThatNobodyWantsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[string](1000, 30*time.Second)
		for range 50 {
			l.Put("busy", 10)
		}
		for range 90 {
			time.Sleep(time.Second)
			require.Equal(t, "busy", mustGet(t, l))
			l.Put("busy", 10)
		}
		require.Equal(t, 1, l.Len())
		require.Equal(t, 10, l.Size())
		time.Sleep(61 * time.Second)
		synctest.Wait()
		require.Zero(t, l.Len())
		require.Nil(t, l.sweep, "nothing is left to forget")
		l.Put("again", 10)
		require.Equal(t, "again", mustGet(t, l))
		time.Sleep(31 * time.Second)
		synctest.Wait()
		require.Nil(t, l.sweep)
	})
}

func TestManyMayUseItAtOnce(t *testing.T) {
	l := New[*int](64, time.Millisecond)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				buffer, ok := l.Get()
				if !ok {
					buffer = new(int)
				}
				*buffer++ // the race detector reports concurrent use
				l.Put(buffer, 1)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, l.Size(), 8)
}
