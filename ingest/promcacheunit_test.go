package ingest

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestLabelsAreRememberedByWorkspace(t *testing.T) {
	c, workspace, other := newPromCache(1<<20), uuid.New(), uuid.New()
	raw := []byte("labels")
	hash := c.hash(raw)
	known := &promSeries{workspace: workspace, raw: string(raw), name: "node/a:1"}
	c.put(hash, known)
	require.Same(t, known, c.get(hash, workspace, raw))
	require.Nil(t, c.get(hash, other, raw))
	require.Nil(t, c.get(hash, workspace, []byte("other bytes of the same hash")))
	c.put(hash, &promSeries{workspace: other, raw: string(raw)})
	require.Nil(t, c.get(hash, workspace, raw), "of one hash the last is remembered")
}

func TestRememberedLabelsAreBounded(t *testing.T) {
	const limit = 1 << 20
	c, workspace := newPromCache(limit), uuid.New()
	raw := strings.Repeat("x", 1000)
	size := len(raw) + promSeriesBytes
	for i := range uint64(10_000) {
		c.put(i, &promSeries{workspace: workspace, raw: raw})
	}
	require.LessOrEqual(t, c.len()*size, limit+2*promShards*size)
	kept := c.len()
	for i := range uint64(10_000) {
		c.put(1<<32+i, &promSeries{workspace: workspace, raw: raw})
	}
	require.Equal(t, kept, c.len(), "what is full stays for a while")
	require.NotNil(t, c.get(1, workspace, []byte(raw)))
}
