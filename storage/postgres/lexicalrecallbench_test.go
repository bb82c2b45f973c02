package postgres_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

const (
	recallTop = 10 // how many of the best are asked for
	// A text is so much longer than its words: by a name, which counts twice, and by the
	// key and the value of the property that insertTexts adds. No query has these.
	besideWords = 4
)

// zipfWord is a word of one term: the number in letters.
func zipfWord(n uint64) string {
	word := []byte("zq")
	for ; n > 0 || len(word) < 5; n /= 20 {
		word = append(word, "bcdfghjklmnpqrtvwxyz"[n%20])
	}
	return string(word)
}

// zipfTexts are n texts of 8 to 40 words out of 200,000, as frequent as Zipf has it.
func zipfTexts(r *rand.Rand, n int) (names []string, texts [][]string) {
	frequency := rand.NewZipf(r, 1.07, 8, 200_000)
	for i := range n {
		text := make([]string, 8+r.IntN(33))
		for j := range text {
			text[j] = zipfWord(frequency.Uint64())
		}
		names, texts = append(names, zipfWord(uint64(10_000_000+i))), append(texts, text)
	}
	return names, texts
}

// exactBM25 gives for a query the scores of all texts by the book, from the words
// alone.
func exactBM25(texts [][]string, query []string, average float64) []float64 {
	scores, counts := make([]float64, len(texts)), make([]float64, len(texts))
	for _, word := range query {
		having := 0.0
		for i, text := range texts {
			counts[i] = 0
			for _, w := range text {
				if w == word {
					counts[i]++
				}
			}
			if counts[i] > 0 {
				having++
			}
		}
		n := float64(len(texts))
		idf := math.Log(1 + (n-having+0.5)/(having+0.5))
		for i, tf := range counts {
			if tf > 0 {
				length := float64(len(texts[i]) + besideWords)
				scores[i] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*length/average))
			}
		}
	}
	return scores
}

// BenchmarkTextRecall says which share of the exact ten best a search in words finds,
// counting a node that scores as the tenth does, among 100,000 nodes, or
// LIVEGRAPH_TEXT_NODES. The queries have one to three words, each of the 30 or of the
// 3,000 most frequent.
func BenchmarkTextRecall(b *testing.B) {
	nodes := 100_000
	if set := os.Getenv("LIVEGRAPH_TEXT_NODES"); set != "" {
		var err error
		nodes, err = strconv.Atoi(set)
		require.NoError(b, err)
	}
	w := newGraphWorld(b)
	db, ws := w.db, w.workspace(b)
	r := rand.New(rand.NewPCG(23, 1))
	names, texts := zipfTexts(r, nodes)
	place, average := map[uuid.UUID]int{}, 0.0
	for from := 0; from < nodes; from += 10_000 {
		to := min(from+10_000, nodes)
		joined := make([]string, 0, to-from)
		for _, text := range texts[from:to] {
			joined, average = append(joined, strings.Join(text, " ")), average+float64(len(text)+besideWords)/float64(nodes)
		}
		ids := insertTexts(b, db, ws, names[from:to], joined)
		index(b, db, ws, ids...)
		for i, id := range ids {
			place[id] = from + i
		}
	}
	require.NoError(b, db.Exec(b.Context(), `VACUUM ANALYZE`))
	total, err := db.Strings(b.Context(), `SELECT length::text FROM lexical_workspaces WHERE workspace_id = $1`, ws)
	require.NoError(b, err)
	require.Equal(b, []string{strconv.Itoa(int(math.Round(average * float64(nodes))))}, total, "the lane counts words as this does")
	for _, common := range []uint64{30, 3_000} {
		b.Run(fmt.Sprintf("words=%d", common), func(b *testing.B) {
			var took []time.Duration
			found, wanted := 0.0, 0.0
			for b.Loop() {
				query := make([]string, 1+r.IntN(3))
				for i := range query {
					query[i] = zipfWord(r.Uint64N(common))
				}
				slices.Sort(query)
				query = slices.Compact(query)
				began := time.Now()
				got, err := db.SearchText(b.Context(), ws, lexical.Parse(strings.Join(query, " ")+" "), retrieval.Filter{}, recallTop, 0)
				took = append(took, time.Since(began))
				require.NoError(b, err)
				scores := exactBM25(texts, query, average)
				best := slices.Clone(scores)
				slices.SortFunc(best, func(x, y float64) int { return cmp.Compare(y, x) })
				for _, score := range best[:recallTop] {
					if score > 0 {
						wanted++
					}
				}
				for _, hit := range got.Hits {
					if scores[place[hit.Node]] >= best[recallTop-1]-1e-9 {
						found++
					}
				}
			}
			report(b, took)
			b.ReportMetric(100*found/wanted, "R@10")
		})
	}
}
