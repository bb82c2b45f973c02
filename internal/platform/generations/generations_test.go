package generations_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/generations"
)

func TestTheNumberOfEntriesIsBounded(t *testing.T) {
	c := generations.New[uint64, string](generations.Config[string]{Shards: 4, Size: 1000})
	for i := range uint64(100_000) {
		c.Put(i, i, "x")
		value, ok := c.Get(i, i)
		require.True(t, ok)
		require.Equal(t, "x", value)
	}
	require.LessOrEqual(t, c.Len(), 1000)
	require.Greater(t, c.Len(), 400)
}

func TestTheSizeOfEntriesIsBounded(t *testing.T) {
	c := generations.New[uint64, string](generations.Config[string]{
		Shards: 4, Size: 100_000, SizeOf: func(v string) int { return len(v) },
	})
	long := strings.Repeat("x", 1000)
	for i := range uint64(10_000) {
		c.Put(i, i, long)
	}
	require.LessOrEqual(t, c.Len(), 100+2*4)
	require.Greater(t, c.Len(), 40)
}

func TestAnEntryInUseIsNotEvicted(t *testing.T) {
	c := generations.New[uint64, int](generations.Config[int]{Shards: 4, Size: 1000})
	c.Put(7, 7, 1)
	for i := range uint64(10_000) {
		c.Put(8+i, 8+i, 2)
		value, ok := c.Get(7, 7)
		require.True(t, ok)
		require.Equal(t, 1, value)
	}
}

func TestAFullGenerationIsKeptForItsMinimumAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := generations.New[uint64, int](generations.Config[int]{Shards: 1, Size: 20, MinAge: time.Minute})
		time.Sleep(time.Hour)
		fill := func(from uint64) {
			for i := from; i < from+30; i++ {
				c.Put(0, i, 1)
			}
		}
		fill(0) // the first generation is replaced by the second one, which is then full
		require.False(t, c.CanPut(0))
		fill(1000)
		_, ok := c.Get(0, 1000)
		require.False(t, ok)
		_, ok = c.Get(0, 15)
		require.True(t, ok)
		time.Sleep(time.Minute + 1)
		require.True(t, c.CanPut(0))
		fill(1000)
		_, ok = c.Get(0, 1000)
		require.True(t, ok)
		require.Equal(t, 20, c.Len())
	})
}

func TestEachValueThatLeavesTheCacheIsReported(t *testing.T) {
	left := map[int]int{}
	c := generations.New[uint64, int](generations.Config[int]{Shards: 1, Size: 20, Evicted: func(v int) { left[v]++ }})
	for i := range 100 {
		c.Put(0, uint64(i), i)
		_, ok := c.Get(0, 7) // stays in use
		require.Equal(t, i >= 7, ok)
	}
	c.Put(0, 7, 1000)
	kept := 0
	for i := range 100 {
		value, ok := c.Get(0, uint64(i))
		if ok && value == i {
			kept++
			require.Zero(t, left[i])
		} else {
			require.Equal(t, 1, left[i], "value %d", i)
		}
	}
	require.Greater(t, kept, 8)
	require.Zero(t, left[1000])
}
