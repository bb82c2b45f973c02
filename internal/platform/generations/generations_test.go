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

func TestAFullCacheKeepsItsEntriesForTheMinimumAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := generations.New[uint64, int](generations.Config[int]{Shards: 1, Size: 20, MinAge: time.Minute})
		fill := func(from uint64) {
			for i := from; i < from+30; i++ {
				c.Put(0, i, 1)
			}
		}
		has := func(key uint64) bool {
			_, ok := c.Get(0, key)
			return ok
		}
		time.Sleep(time.Hour)
		fill(0) // the full shard becomes the old generation, because the cache is older than a minute
		require.Equal(t, 20, c.Len(), "one generation may have the whole cache")
		require.False(t, c.CanPut(0))
		require.True(t, has(19))
		require.False(t, has(20))
		time.Sleep(time.Minute + 1)
		for i := range uint64(15) { // still in use
			require.True(t, has(i))
		}
		require.True(t, c.CanPut(0))
		fill(1000)
		require.Equal(t, 20, c.Len())
		require.True(t, has(1003))
		require.False(t, has(1004))
		require.True(t, has(0))
		require.False(t, has(17), "it was not used")
		require.True(t, has(19))
		for i := range uint64(15) {
			require.True(t, has(i))
		}
		time.Sleep(time.Minute + 1)
		fill(2000)
		require.False(t, has(2000), "all entries are in use")
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
