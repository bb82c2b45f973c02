package remotewrite

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestLabelsAreRememberedByWorkspace(t *testing.T) {
	c, workspace, other := NewCache(1<<20), uuid.New(), uuid.New()
	raw := []byte("labels")
	hash := c.hash(raw)
	known := &cachedSeries{workspace: workspace, raw: string(raw), name: "node/a:1"}
	c.put(hash, known)
	require.Same(t, known, c.get(hash, workspace, raw))
	require.Nil(t, c.get(hash, other, raw))
	require.Nil(t, c.get(hash, workspace, []byte("other bytes of the same hash")))
	c.put(hash, &cachedSeries{workspace: other, raw: string(raw)})
	require.Nil(t, c.get(hash, workspace, raw), "the last entry of a hash is cached")
}

func TestRememberedLabelsAreBounded(t *testing.T) {
	const limit = 1 << 20
	c, workspace := NewCache(limit), uuid.New()
	raw := strings.Repeat("x", 1000)
	size := len(raw) + cachedSeriesBytes
	for i := range uint64(10_000) {
		c.put(i, &cachedSeries{workspace: workspace, raw: raw})
	}
	require.LessOrEqual(t, c.Len()*size, limit+2*cacheShards*size)
	kept := c.Len()
	for i := range uint64(10_000) {
		c.put(1<<32+i, &cachedSeries{workspace: workspace, raw: raw})
	}
	require.Equal(t, kept, c.Len(), "a full generation is kept for a minimum time")
	require.NotNil(t, c.get(1, workspace, []byte(raw)))
}
