package embedded_test

import (
	"testing"

	"github.com/livegraph/livegraph/test/testenv"
)

// nearest.py replaces the search of milvus-lite. It must find the same results.
func TestSearchesOfTheEmbeddedMilvusFindWhatMilvusLiteFinds(t *testing.T) {
	for _, seed := range testenv.InFull([]string{"1", "2"}, []string{"1"}) {
		checkInPython(t, "milvus", "testdata/nearest_check.py", seed)
	}
}

// Without duplicates.py, an HNSW index most of whose vectors are equal does not find the others.
func TestSearchesOfTheEmbeddedMilvusFindVectorsBesideManyEqualOnes(t *testing.T) {
	checkInPython(t, "milvus", "testdata/duplicates_check.py")
}
