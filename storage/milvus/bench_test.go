package milvus_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/test/testenv"
)

// Benchmark parameters: the embedder's dimensions and the size of the consumer's batches.
const (
	benchDimensions = 384
	benchBatch      = 500
)

// BenchmarkUpsert writes a batch of new entries per operation.
func BenchmarkUpsert(b *testing.B) {
	db := open(b, testenv.Milvus(b))
	name, workspace := newCollection(b, db, benchDimensions), uuid.New()
	vectors := random(4, benchBatch, benchDimensions)
	for b.Loop() {
		entries := make([]milvus.Entry, benchBatch)
		for i := range entries {
			entries[i] = entry(workspace, vectors[i]...)
		}
		require.NoError(b, db.Upsert(b.Context(), name, entries))
	}
	b.ReportMetric(benchBatch*float64(b.N)/b.Elapsed().Seconds(), "vectors/s")
}

// BenchmarkSearch searches for the 10 and the 100 nearest entries of one workspace, before and after
// they are flushed.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{6_000, 10_000} {
		b.Run("entries="+strconv.Itoa(n), func(b *testing.B) {
			db := open(b, testenv.Milvus(b))
			name, workspace := newCollection(b, db, benchDimensions), uuid.New()
			vectors := random(5, n+100, benchDimensions)
			entries := make([]milvus.Entry, n)
			for i := range entries {
				entries[i] = entry(workspace, vectors[i]...)
			}
			require.NoError(b, db.Upsert(b.Context(), name, entries))
			queries, nodes := vectors[n:], make([]uuid.UUID, 1_000)
			for i := range nodes {
				nodes[i] = entries[i*n/1_000].Node
			}
			b.Run("unflushed", func(b *testing.B) { benchSearch(b, db, name, workspace, queries, milvus.Filter{}) })
			require.NoError(b, db.Flush(b.Context(), name))
			awaitAll(b, db, name, workspace, vectors[n], n)
			b.Run("flushed", func(b *testing.B) { benchSearch(b, db, name, workspace, queries, milvus.Filter{}) })
			b.Run("of=1000", func(b *testing.B) { benchSearch(b, db, name, workspace, queries, milvus.Filter{Nodes: nodes}) })
		})
	}
}

func benchSearch(
	b *testing.B, db *milvus.DB, name string, workspace uuid.UUID, queries [][]float32, filter milvus.Filter,
) {
	for _, limit := range []int{10, 100} {
		b.Run("limit="+strconv.Itoa(limit), func(b *testing.B) {
			var latencies []time.Duration
			for b.Loop() {
				began := time.Now()
				hits, err := db.Search(b.Context(), name, workspace, queries[len(latencies)%len(queries)], filter, limit)
				require.NoError(b, err)
				require.Len(b, hits, limit)
				latencies = append(latencies, time.Since(began))
			}
			slices.Sort(latencies)
			b.ReportMetric(latencies[len(latencies)/2].Seconds()*1e3, "p50-ms")
			b.ReportMetric(latencies[len(latencies)*95/100].Seconds()*1e3, "p95-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkVisible measures the time from a write until a search finds the entry.
func BenchmarkVisible(b *testing.B) {
	db := open(b, testenv.Milvus(b))
	name, workspace := newCollection(b, db, 4), uuid.New()
	for b.Loop() {
		e := entry(workspace, 1, 0, 0, 0)
		require.NoError(b, db.Upsert(b.Context(), name, []milvus.Entry{e}))
		for hits := 0; hits == 0; {
			found, err := db.Search(b.Context(), name, workspace, e.Vector, milvus.Filter{Nodes: []uuid.UUID{e.Node}}, 1)
			require.NoError(b, err)
			hits = len(found)
		}
	}
}
