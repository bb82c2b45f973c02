package textindex_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/test/pgtest"
)

// insertTexts inserts nodes with names and descriptions, half of them objects.
func insertTexts(b testing.TB, db *pgtest.DB, ws uuid.UUID, names, texts []string) []uuid.UUID {
	b.Helper()
	ids, types := make([]uuid.UUID, len(names)), make([]string, len(names))
	for i := range ids {
		ids[i], types[i] = uuid.Must(uuid.NewV7()), []string{"object", "concept"}[i%2]
	}
	require.NoError(
		b,
		db.Exec(
			b.Context(),
			`INSERT INTO nodes (workspace_id, id, name, entity_type, description, properties, created_at, updated_at, version,
				changed_by, created_by)
		SELECT $1, id, name, type, text, jsonb_build_object('line', place % 1000), now(), now(), 1, 1, 1
		FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[])
			WITH ORDINALITY AS t (id, name, type, text, place)`, ws, ids, names, types, texts,
		),
	)
	return ids
}

// shortTexts returns names and sentences of about ten words. Some words are in most sentences, most
// words in few.
func shortTexts(r *rand.Rand, n int) (names, texts []string) {
	word := func() string {
		return fmt.Sprintf("word%c%d", 'a'+rune(r.IntN(5)), int(20_000*r.Float64()*r.Float64()*r.Float64()))
	}
	for i := range n {
		names = append(names, fmt.Sprintf("Sensor %d of line %d", i, i%1000))
		texts = append(texts, fmt.Sprintf("The sensor of %s and %s at %s is %s.", word(), word(), word(), word()))
	}
	return names, texts
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// BenchmarkTextsAreWritten indexes new nodes with short texts.
func BenchmarkTextsAreWritten(b *testing.B) {
	w := newGraphFixture(b)
	db, ws := w.db, w.workspace(b)
	const nodes = 2000
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		b.StopTimer()
		names, texts := shortTexts(r, nodes)
		ids := insertTexts(b, db, ws, names, texts)
		b.StartTimer()
		index(b, db, ws, ids...)
	}
	b.ReportMetric(float64(nodes)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
}

// BenchmarkSearchOf100000 searches among short texts.
func BenchmarkSearchOf100000(b *testing.B) {
	w := newGraphFixture(b)
	db, ws := w.db, w.workspace(b)
	r := rand.New(rand.NewPCG(1, 1))
	names, texts := shortTexts(r, 100_000)
	for from := 0; from < len(names); from += 10_000 {
		index(b, db, ws, insertTexts(b, db, ws, names[from:from+10_000], texts[from:from+10_000])...)
	}
	require.NoError(b, db.Exec(b.Context(), `VACUUM ANALYZE`))
	for name, f := range map[string]retrieval.Filter{
		"any": {}, "half": {EntityTypes: []string{"object"}},
		"few": {Properties: map[string][]jsontext.Value{"line": {jsontext.Value(`7`)}}},
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				query := "which sensor is of " + texts[r.IntN(len(texts))]
				start := time.Now()
				_, err := db.SearchText(b.Context(), ws, lexical.Parse(query), f, 10, 0)
				require.NoError(b, err)
				took = append(took, time.Since(start))
			}
			report(b, took)
		})
	}
}

// BenchmarkSearchOfPassages searches for the questions of the retrieval data set in the folder
// LIVEGRAPH_2WIKI, and reports the share of the expected nodes that are among the first five.
func BenchmarkSearchOfPassages(b *testing.B) {
	folder := os.Getenv("LIVEGRAPH_2WIKI")
	if folder == "" {
		b.Skip("LIVEGRAPH_2WIKI names no folder")
	}
	var names, texts []string
	eachLine(b, filepath.Join(folder, "corpus.jsonl"), func(p struct{ Title, Text string }) {
		names, texts = append(names, p.Title), append(texts, p.Text)
	})
	w := newGraphFixture(b)
	db, ws := w.db, w.workspace(b)
	ids := insertTexts(b, db, ws, names, texts)
	index(b, db, ws, ids...)
	require.NoError(b, db.Exec(b.Context(), `VACUUM ANALYZE`))
	titles := map[uuid.UUID]string{}
	for i, id := range ids {
		titles[id] = names[i]
	}
	for b.Loop() {
		var took []time.Duration
		var recall, questions float64
		eachLine(b, filepath.Join(folder, "questions.jsonl"), func(q struct {
			Question string
			Gold     []string
		}) {
			start := time.Now()
			got, err := db.SearchText(b.Context(), ws, lexical.Parse(q.Question), retrieval.Filter{}, 10, 0)
			took = append(took, time.Since(start))
			require.NoError(b, err)
			found := map[string]bool{}
			for _, h := range got.Hits[:min(5, len(got.Hits))] {
				if title := titles[h.Node]; slices.Contains(q.Gold, title) {
					found[title] = true
				}
			}
			recall += float64(len(found)) / float64(len(q.Gold))
			questions++
		})
		report(b, took)
		b.ReportMetric(100*recall/questions, "R@5")
	}
}

// eachLine reads a file of JSON lines. The case of keys is ignored.
func eachLine[T any](b testing.TB, path string, f func(T)) {
	b.Helper()
	file, err := os.Open(path)
	require.NoError(b, err)
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line T
		require.NoError(b, json.Unmarshal(lines.Bytes(), &line, json.MatchCaseInsensitiveNames(true)))
		f(line)
	}
	require.NoError(b, lines.Err())
}
