package textindex_test

import (
	"cmp"
	"encoding/binary"
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
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/pgtest"
)

const (
	recallTop = 10 // limit of each search
	// extraLength is the length of an indexed text besides its words: the name, which counts twice,
	// and the key and the value of the property that insertTexts adds. No query contains these.
	extraLength = 4
)

// zipfWord returns a word of one term that encodes a number in letters.
func zipfWord(n uint32) string {
	word := []byte("zq")
	for ; n > 0 || len(word) < 5; n /= 20 {
		word = append(word, "bcdfghjklmnpqrtvwxyz"[n%20])
	}
	return string(word)
}

// zipfTexts returns n texts of 8 to 40 words out of 200,000 with a Zipf distribution. Each text is the
// list of the numbers of its words.
func zipfTexts(r *rand.Rand, n int) [][]uint32 {
	frequency := rand.NewZipf(r, 1.07, 8, 200_000)
	texts := make([][]uint32, n)
	for i := range texts {
		texts[i] = make([]uint32, 8+r.IntN(33))
		for j := range texts[i] {
			texts[i][j] = uint32(frequency.Uint64())
		}
	}
	return texts
}

// lexicalCopy has the rows of a part of the nodes, for COPY.
type lexicalCopy struct {
	nodes, texts, postings [][]any
}

// loadTexts loads nodes with texts, and the same text index as ApplyLexical writes, with COPY: a
// million nodes in minutes. It returns their ids and the average length.
func loadTexts(b *testing.B, db *pgtest.DB, ws uuid.UUID, texts [][]uint32) (ids []uuid.UUID, average float64) {
	b.Helper()
	began, ctx := time.Now(), b.Context()
	for _, statement := range []string{ // no search reads these
		`DROP INDEX nodes_words, nodes_created, nodes_updated, nodes_name, nodes_type, nodes_version, nodes_changed`,
		`ALTER TABLE lexical_postings DROP CONSTRAINT lexical_postings_pkey`,
	} {
		require.NoError(b, db.Exec(ctx, statement))
	}
	total := 0
	for part := range slices.Chunk(texts, 20_000) {
		var rows lexicalCopy
		for _, text := range part {
			id := uuid.UUID{6: 0x70, 8: 0x80} // increasing with time, like the ids of nodes
			binary.BigEndian.PutUint32(id[:], uint32(len(ids)))
			total += rows.add(ws, id, len(ids), text)
			ids = append(ids, id)
		}
		require.NoError(b, db.Copy(ctx, "nodes", []string{
			"workspace_id", "id", "name", "entity_type", "properties", "created_at", "updated_at", "version", "changed_by",
			"created_by",
		}, rows.nodes))
		require.NoError(b, db.Copy(
			ctx, "lexical_nodes", []string{"workspace_id", "node_id", "digest", "length", "name_key", "terms"}, rows.texts,
		))
		require.NoError(b, db.Copy(
			ctx, "lexical_postings", []string{"workspace_id", "term", "node_id", "count", "length"}, rows.postings,
		))
	}
	for _, statement := range []string{
		`ALTER TABLE lexical_postings ADD CONSTRAINT lexical_postings_pkey PRIMARY KEY (workspace_id, term,
			node_id) INCLUDE (count, length)`,
		`INSERT INTO lexical_terms SELECT workspace_id, term, count(*) FROM lexical_postings GROUP BY workspace_id, term`,
		`INSERT INTO lexical_workspaces (workspace_id, nodes, length, version) SELECT workspace_id, count(*), sum(length), ` +
			strconv.Itoa(lexical.Version) +
			` FROM lexical_nodes GROUP BY workspace_id`,
		`INSERT INTO lexical_champion_lists (workspace_id, term) SELECT workspace_id, term FROM lexical_terms
			WHERE nodes > 20000`,
		`VACUUM ANALYZE`,
	} {
		require.NoError(b, db.ExecLong(ctx, statement))
	}
	b.Logf("%d nodes loaded in %s", len(texts), time.Since(began).Round(time.Second))
	return ids, float64(total) / float64(len(texts))
}

// add adds the rows of a node, and returns the length of its text.
func (c *lexicalCopy) add(ws, id uuid.UUID, n int, text []uint32) int {
	words := make([]string, len(text))
	for i, word := range text {
		words[i] = zipfWord(word)
	}
	name, description := zipfWord(uint32(10_000_000+n)), strings.Join(words, " ")
	terms := lexical.Analyse(lexical.Document{Name: name, Description: description + " line " + strconv.Itoa(n%1000)})
	all := make([]string, len(terms.List))
	for i, t := range terms.List {
		all[i] = t.Text
		c.postings = append(c.postings, []any{ws, t.Text, id, int16(t.Count), int32(terms.Length)})
	}
	now := time.Now()
	c.nodes = append(c.nodes, []any{
		ws, id, name, []string{"object", "concept"}[n%2], "{}", now, now, int64(1), int64(1), int64(1),
	})
	c.texts = append(c.texts, []any{ws, id, []byte("bulk"), int32(terms.Length), name, strings.Join(all, " ")})
	return terms.Length
}

// exactBM25 computes the scores of all texts for a query with the formula, from the words.
func exactBM25(texts [][]uint32, query []uint32, average float64) []float64 {
	scores, counts := make([]float64, len(texts)), make([]float64, len(texts))
	for _, word := range query {
		matching := 0.0
		for i, text := range texts {
			counts[i] = 0
			for _, w := range text {
				if w == word {
					counts[i]++
				}
			}
			if counts[i] > 0 {
				matching++
			}
		}
		n := float64(len(texts))
		idf := math.Log(1 + (n-matching+0.5)/(matching+0.5))
		for i, tf := range counts {
			if tf > 0 {
				length := float64(len(texts[i]) + extraLength)
				scores[i] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*length/average))
			}
		}
	}
	return scores
}

// recallQueries is the number of queries of each kind.
const recallQueries = 200

// BenchmarkTextRecall reports the share of the exact ten best nodes that a text search finds, among
// 100,000 nodes, or each of the comma-separated numbers in LIVEGRAPH_TEXT_NODES. A node with the score of
// the tenth counts as one of the ten. The queries have one to three words, each of the 30 or of the 3,000
// most frequent. Each query is run twice: with champion lists, and with the newest postings, as a search
// does until the lists are filled. The two runs alternate, so that other load affects both.
func BenchmarkTextRecall(b *testing.B) {
	rec := record.New(b)
	for size := range strings.SplitSeq(cmp.Or(os.Getenv("LIVEGRAPH_TEXT_NODES"), "100000"), ",") {
		nodes, err := strconv.Atoi(size)
		require.NoError(b, err)
		measureRecall(b, rec, nodes)
	}
	rec.Save()
}

func measureRecall(b *testing.B, rec *record.Recorder, nodes int) {
	w := newGraphFixture(b)
	db, ws := w.db, w.workspace(b)
	r := rand.New(rand.NewPCG(23, 1))
	texts := zipfTexts(r, nodes)
	ids, average := loadTexts(b, db, ws, texts)
	position := make(map[uuid.UUID]int, len(ids))
	for i, id := range ids {
		position[id] = i
	}
	began, prefix := time.Now(), fmt.Sprintf("nodes=%d/", nodes)
	lists := refreshLists(b, db)
	b.Logf("%d champion lists filled in %s", lists, time.Since(began).Round(time.Millisecond))
	require.NoError(b, db.ExecLong(b.Context(), `VACUUM ANALYZE`))
	aged := withoutChampions(w.db)
	for _, common := range []uint32{30, 3_000} {
		cuts := map[string]*recallResult{"weight": {db: db}, "age": {db: aged}}
		order := []string{"weight", "age"}
		for range recallQueries {
			query := make([]uint32, 1+r.IntN(3))
			for i := range query {
				query[i] = r.Uint32N(common)
			}
			slices.Sort(query)
			query = slices.Compact(query)
			scores := exactBM25(texts, query, average)
			slices.Reverse(order) // the first run finds less in the caches of Postgres
			for _, cut := range order {
				cuts[cut].search(b, ws, query, scores, position)
			}
		}
		for cut, c := range cuts {
			slices.Sort(c.took)
			name := fmt.Sprintf("%swords=%d/%s/", prefix, common, cut)
			rec.Add(name+"R@10", "%", 100*c.found/c.wanted)
			rec.Add(name+"p50", "ms", float64(c.took[len(c.took)/2].Microseconds())/1000)
			rec.Add(name+"p95", "ms", float64(c.took[len(c.took)*95/100].Microseconds())/1000)
		}
	}
}

// recallResult has the results of the searches of one database.
type recallResult struct {
	db            *pgtest.DB
	took          []time.Duration
	found, wanted float64
}

func (c *recallResult) search(
	b *testing.B, ws uuid.UUID, query []uint32, scores []float64, position map[uuid.UUID]int,
) {
	b.Helper()
	var words strings.Builder
	for _, word := range query {
		words.WriteString(zipfWord(word) + " ")
	}
	began := time.Now()
	got, err := c.db.SearchText(b.Context(), ws, lexical.Parse(words.String()), retrieval.Filter{}, recallTop, 0)
	c.took = append(c.took, time.Since(began))
	require.NoError(b, err)
	best := slices.Clone(scores)
	slices.SortFunc(best, func(x, y float64) int { return cmp.Compare(y, x) })
	for _, score := range best[:recallTop] {
		if score > 0 {
			c.wanted++
		}
	}
	for _, hit := range got.Hits {
		if scores[position[hit.Node]] >= best[recallTop-1]-1e-9 {
			c.found++
		}
	}
}
