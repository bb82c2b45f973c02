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

// Of what is measured: the embedder's dimensions, and the size of the consumer's batches.
const (
	benchDimensions = 384
	benchBatch      = 500
)

// BenchmarkUpsert writes new entries, a batch an operation.
func BenchmarkUpsert(b *testing.B) {
	db := open(b, testenv.Milvus(b))
	name, workspace := made(b, db, benchDimensions), uuid.New()
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

// BenchmarkSearch looks for the ten and the hundred nearest of one workspace's entries,
// before and after they are flushed.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{6_000, 10_000} {
		b.Run("entries="+strconv.Itoa(n), func(b *testing.B) {
			db := open(b, testenv.Milvus(b))
			name, workspace := made(b, db, benchDimensions), uuid.New()
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
			b.Run("unflushed", func(b *testing.B) { benchSearch(b, db, name, workspace, queries, milvus.Near{}) })
			require.NoError(b, db.Flush(b.Context(), name))
			awaitAll(b, db, name, workspace, vectors[n], n)
			b.Run("flushed", func(b *testing.B) { benchSearch(b, db, name, workspace, queries, milvus.Near{}) })
			b.Run("of=1000", func(b *testing.B) { benchSearch(b, db, name, workspace, queries, milvus.Near{Nodes: nodes}) })
		})
	}
}

func benchSearch(b *testing.B, db *milvus.DB, name string, workspace uuid.UUID, queries [][]float32, near milvus.Near) {
	for _, limit := range []int{10, 100} {
		b.Run("limit="+strconv.Itoa(limit), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				hits, err := db.Search(b.Context(), name, workspace, queries[len(took)%len(queries)], near, limit)
				require.NoError(b, err)
				require.Len(b, hits, limit)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1e3, "p50-ms")
			b.ReportMetric(took[len(took)*95/100].Seconds()*1e3, "p95-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkVisible takes the time from a write until a search finds it.
func BenchmarkVisible(b *testing.B) {
	db := open(b, testenv.Milvus(b))
	name, workspace := made(b, db, 4), uuid.New()
	for b.Loop() {
		e := entry(workspace, 1, 0, 0, 0)
		require.NoError(b, db.Upsert(b.Context(), name, []milvus.Entry{e}))
		for hits := 0; hits == 0; {
			found, err := db.Search(b.Context(), name, workspace, e.Vector, milvus.Near{Nodes: []uuid.UUID{e.Node}}, 1)
			require.NoError(b, err)
			hits = len(found)
		}
	}
}
