package vector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval/vector"
)

func TestASimilarityMeansTheSameForEachModel(t *testing.T) {
	minilm, e5 := vector.Model{Name: "all-MiniLM-L6-v2", Dimensions: 384}, vector.Model{Name: "multilingual-e5-small"}
	for _, cosine := range []float64{-0.5, 0, 0.3, 1} {
		require.InDelta(t, cosine, minilm.Similarity(cosine), 1e-12)
	}
	require.InDelta(t, 1, e5.Similarity(1), 1e-12)
	require.InDelta(t, 0.5, e5.Similarity(0.9), 1e-12)
	require.InDelta(t, 0, e5.Similarity(0.8), 1e-12, "texts that have nothing in common")
	require.Negative(t, e5.Similarity(0.7))
}
