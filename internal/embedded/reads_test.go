package embedded_test

import "testing"

// Without reads.py, a search of milvus-lite during a flush misses the rows that are being flushed.
func TestReadsOfTheEmbeddedMilvusFindRowsThatAreFlushed(t *testing.T) {
	checkInPython(t, "milvus", "testdata/reads_check.py")
}
