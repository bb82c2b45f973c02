package embedded_test

import "testing"

// nearest.py answers searches in milvus-lite's place, which must not be seen by what
// they find.
func TestSearchesOfTheEmbeddedMilvusFindWhatMilvusLiteFinds(t *testing.T) {
	for _, seed := range []string{"1", "2"} {
		checkInPython(t, "milvus", "testdata/nearest_check.py", seed)
	}
}
