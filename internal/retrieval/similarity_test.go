package retrieval

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

func TestSimilaritiesOfSentencesAreScaled(t *testing.T) {
	a, b := embed.Vector{1, 0}, embed.Vector{0.9, 0.43588989}
	require.InDelta(t, 0.9, scaledCosine(embed.Model{Name: "m"}, a, b), 1e-6)
	e5 := embed.Model{Name: "multilingual-e5-small"}
	require.InDelta(t, 0.5, scaledCosine(e5, a, b), 1e-6)
	require.Zero(t, scaledCosine(e5, a, embed.Vector{0.6, 0.8}), "it is negative")
	require.Zero(t, scaledCosine(e5, a, nil))

	c := candidates{list: []*sentence{{}}}
	c.setVectors(e5, []embed.Vector{a, b})
	require.InDelta(t, 0.5, c.list[0].cosine, 1e-6)
	similar, _ := c.compare(&sentence{vector: a}, []*sentence{{vector: b}})
	require.InDelta(t, 0.5, similar, 1e-6)

	s := source{vectors: []embed.Vector{b}}
	require.InDelta(t, 0.5, s.support("pump", e5, a, Weights{Vector: 1}), 1e-6)
}
