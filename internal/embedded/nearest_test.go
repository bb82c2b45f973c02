package embedded_test

import "testing"

// nearest.py replaces the search of milvus-lite. It must find the same results.
func TestSearchesOfTheEmbeddedMilvusFindWhatMilvusLiteFinds(t *testing.T) {
	for _, seed := range []string{"1", "2"} {
		checkInPython(t, "milvus", "testdata/nearest_check.py", seed)
	}
}
