package postgres_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkTextsAreWrittenAmong100000 writes what new nodes are found by, and what nodes
// are that get another text, beside 100,000 with texts as BenchmarkTextRecall has them:
// some of their words have champion lists.
func BenchmarkTextsAreWrittenAmong100000(b *testing.B) {
	const nodes = 500
	w := newGraphWorld(b)
	db, ws := w.db, w.workspace(b)
	r := rand.New(rand.NewPCG(23, 1))
	ids, _ := loadTexts(b, db, ws, zipfTexts(r, 100_000))
	b.Logf("%d champion lists", refreshLists(b, db))
	some := func() (names, texts []string) {
		for _, text := range zipfTexts(r, nodes) {
			words := make([]string, len(text))
			for i, word := range text {
				words[i] = zipfWord(word)
			}
			names, texts = append(names, "new"), append(texts, strings.Join(words, " "))
		}
		return names, texts
	}
	var created, updated []time.Duration
	for b.Loop() {
		names, texts := some()
		made := insertTexts(b, db, ws, names, texts)
		began := time.Now()
		index(b, db, ws, made...)
		created = append(created, time.Since(began))
		_, texts = some()
		from := r.IntN(len(ids) - nodes)
		require.NoError(b, db.Exec(b.Context(), `UPDATE nodes n SET description = t.text FROM unnest($2::uuid[], $3::text[]) AS t (id, text)
			WHERE n.workspace_id = $1 AND n.id = t.id`, ws, ids[from:from+nodes], texts))
		began = time.Now()
		index(b, db, ws, ids[from:from+nodes]...)
		updated = append(updated, time.Since(began))
		refreshLists(b, db)
	}
	median := func(took []time.Duration) float64 {
		slices.Sort(took)
		return nodes / took[len(took)/2].Seconds()
	}
	b.ReportMetric(median(created), "created/s")
	b.ReportMetric(median(updated), "updated/s")
}
