package block

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestLabelsAreCachedByWorkspaceAndForm(t *testing.T) {
	c, workspace, other := NewLabelCache(1<<20), uuid.New(), uuid.New()
	l := Label{Tokens: Tokens{Tags: []byte("labels"), Metric: []byte("up")}, Hash: 7}
	known := &cachedLabel{form: FormLine, workspace: workspace, tags: "labels", metric: "up", name: "node/a:1"}
	c.labels.Put(l.Hash, l.Hash, known)
	require.Same(t, known, c.get(FormLine, workspace, &l))
	require.Nil(t, c.get(FormLine, other, &l))
	require.Nil(t, c.get(FormLabels, workspace, &l))
	for _, tokens := range []Tokens{
		{Tags: []byte("label"), Metric: []byte("sup")}, {Tags: []byte("labels")},
		{Tags: []byte("labels"), Metric: []byte("up"), Source: []byte("a")},
		{Tags: []byte("labels"), Metric: []byte("up"), ByName: true},
	} {
		require.Nil(t, c.get(FormLine, workspace, &Label{Tokens: tokens, Hash: l.Hash}), "other bytes of the same hash")
	}
	c.labels.Put(l.Hash, l.Hash, &cachedLabel{form: FormLine, workspace: other, tags: "labels", metric: "up"})
	require.Nil(t, c.get(FormLine, workspace, &l), "the last entry of a hash is cached")
}

func TestTheLabelCacheIsBounded(t *testing.T) {
	const limit = 1 << 20
	c, workspace := NewLabelCache(limit), uuid.New()
	long := &cachedLabel{form: FormLine, workspace: workspace, tags: strings.Repeat("x", 1000)}
	for i := range uint64(10_000) {
		c.labels.Put(i, i, long)
	}
	require.LessOrEqual(t, c.Len()*long.size(), limit+2*labelCacheShards*long.size())
	kept := c.Len()
	for i := range uint64(10_000) {
		c.labels.Put(1<<32+i, 1<<32+i, long)
	}
	require.Equal(t, kept, c.Len(), "a full generation is kept for a minimum time")
	require.NotNil(t, c.get(FormLine, workspace, &Label{Tokens: Tokens{Tags: []byte(long.tags)}, Hash: 1}))
}
