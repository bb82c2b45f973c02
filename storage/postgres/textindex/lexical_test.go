package textindex_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/pgtest"
)

// words are few, so that texts share them; the first are in most texts.
var words = []string{
	"the", "pump", "of", "water", "valve", "node-7", "cpu0", "reactor", "東京", "líne", "heat", "turbine", "ghost",
}

func someText(r *rand.Rand, most int) string {
	var text []string
	for range 1 + r.IntN(most) {
		text = append(text, words[min(r.IntN(len(words)), r.IntN(len(words)))])
	}
	return strings.Join(text, " ")
}

// textNodes returns nodes whose names are in no query.
func textNodes(r *rand.Rand, n int) []graph.Node {
	list := pgtest.RandomNodes(r, n)
	for i := range list {
		list[i].Name = "n" + strings.ReplaceAll(uuid.NewString(), "-", "")
		list[i].Description = pgtest.Ptr(someText(r, 30))
	}
	return list
}

func idsOf(list []graph.Node) (ids []uuid.UUID) {
	for _, n := range list {
		ids = append(ids, n.ID)
	}
	return ids
}

func index(t testing.TB, db *pgtest.DB, ws uuid.UUID, ids ...uuid.UUID) textindex.LexicalDone {
	t.Helper()
	done, err := db.ApplyLexical(t.Context(), []textindex.LexicalWork{{Workspace: ws, Nodes: ids}})
	require.NoError(t, err)
	return done
}

func documentOf(n *graph.Node) lexical.Document {
	d := lexical.Document{Name: n.Name, Properties: n.Properties}
	if n.Description != nil {
		d.Description = *n.Description
	}
	return d
}

// referenceBM25 computes the score of every live node with the formula.
func referenceBM25(nodes []graph.Node, q lexical.Query) map[uuid.UUID]float64 {
	type document struct {
		counts map[string]float64
		length float64
	}
	documents, frequency, total := map[uuid.UUID]document{}, map[string]float64{}, 0.0
	for i := range nodes {
		if nodes[i].Deleted {
			continue
		}
		terms := lexical.Analyse(documentOf(&nodes[i]))
		d := document{counts: map[string]float64{}, length: float64(terms.Length)}
		for _, term := range terms.List {
			d.counts[term.Text] = float64(term.Count)
			frequency[term.Text]++
		}
		documents[nodes[i].ID] = d
		total += d.length
	}
	n := float64(len(documents))
	scores := map[uuid.UUID]float64{}
	for id, d := range documents {
		for _, term := range q.Terms {
			if tf := d.counts[term.Text]; tf > 0 {
				idf := math.Log(1 + (n-frequency[term.Text]+0.5)/(frequency[term.Text]+0.5))
				scores[id] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*d.length/(total/n)))
			}
		}
	}
	return scores
}

// someSearchFilter returns a random filter of a search, and a function that evaluates it.
func someSearchFilter(r *rand.Rand) (f retrieval.Filter, passes func(*graph.Node) bool) {
	if r.IntN(2) == 0 {
		f.EntityTypes = graph.EntityTypes()[:1+r.IntN(3)]
	}
	if r.IntN(2) == 0 {
		f.Properties = map[string][]jsontext.Value{}
		for range 1 + r.IntN(3) {
			for _, value := range pgtest.RandomProperties(r) {
				f.Properties["k"] = append(f.Properties["k"], value)
			}
		}
	}
	return f, func(n *graph.Node) bool {
		if f.EntityTypes != nil && !slices.Contains(f.EntityTypes, string(n.EntityType)) {
			return false
		}
		return f.Properties == nil || slices.ContainsFunc(f.Properties["k"], func(v jsontext.Value) bool {
			return bytes.Equal(v, n.Properties["k"])
		})
	}
}

// searcher is a database or a recorder of its statements.
type searcher interface {
	SearchText(
		ctx context.Context, workspace uuid.UUID, q lexical.Query, f retrieval.Filter, limit, names int,
	) (retrieval.TextFindings, error)
}

// byWords returns the hits of a text search.
func byWords(
	t testing.TB, db searcher, ws uuid.UUID, q lexical.Query, f retrieval.Filter, limit int,
) []retrieval.TextHit {
	t.Helper()
	found, err := db.SearchText(t.Context(), ws, q, f, limit, 0)
	require.NoError(t, err)
	return found.Hits
}

// The limits are the default ones, limits of primary postings so low that most searches must prove that
// they are sufficient or read more, and a limit of zero nodes that pass a filter.
func TestSearchRanksAsBM25ByTheBook(t *testing.T) {
	db := pgtest.Open(t)
	ws, other := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(3, 9))
	nodes := textNodes(r, 200)
	for _, in := range []uuid.UUID{ws, other} { // the same ids and texts in both
		pgtest.InsertNodes(t, db, in, nodes)
		index(t, db, in, idsOf(nodes)...)
	}
	require.NoError(t, db.Exec(t.Context(), `UPDATE nodes SET deleted = true WHERE workspace_id = $1`, other))
	byID := map[uuid.UUID]*graph.Node{}
	for i := range nodes {
		byID[nodes[i].ID] = &nodes[i]
	}
	const all = math.MaxInt32
	for round := range 300 {
		bound := [][4]int64{
			{20_000, 20_000, 8_000, 5_000}, {1, all, all, 5_000}, {20, all, all, 5_000}, {20, all, all, 0},
		}[round%4]
		db.SetSearchLimits(bound[0], bound[1], bound[2], int(bound[3]))
		if round%5 < 3 { // otherwise terms of earlier searches are cached
			db.ResetTextCache([]int64{-1, 0, 1 << 20}[round%5])
		}
		q := lexical.Parse(someText(r, 6) + " ")
		filter, passes := someSearchFilter(r)
		scores := referenceBM25(nodes, q)
		var want []uuid.UUID
		for id := range scores {
			if passes(byID[id]) {
				want = append(want, id)
			}
		}
		slices.SortFunc(want, func(a, b uuid.UUID) int { return cmp.Compare(scores[b], scores[a]) })
		limit := 1 + r.IntN(20)
		hits := byWords(t, db, ws, q, filter, limit)
		require.Len(t, hits, min(limit, len(want)), "%v %v", bound, filter)
		for i, hit := range hits {
			require.True(t, passes(byID[hit.Node]) && !byID[hit.Node].Deleted)
			require.InDelta(t, scores[hit.Node], hit.Score, 1e-9)
			require.InDelta(t, scores[want[i]], hit.Score, 1e-9, "hit %d of %v with %v", i, q.Terms, bound)
		}
		hits = byWords(t, db, other, q, filter, limit)
		require.Empty(t, hits, "deleted nodes are not found, even if they are live in another workspace")
	}
}

// With any limits, every hit passes the filter, and its score is at most the exact one.
func TestASearchThatIsCutShortFindsNothingThatDoesNotPass(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(4, 9))
	nodes := textNodes(r, 200)
	pgtest.InsertNodes(t, db, ws, nodes)
	index(t, db, ws, idsOf(nodes)...)
	byID := map[uuid.UUID]*graph.Node{}
	for i := range nodes {
		byID[nodes[i].ID] = &nodes[i]
	}
	for range 150 {
		db.SetSearchLimits(1+r.Int64N(30), 1+r.Int64N(100), 1+r.Int64N(30), r.IntN(30))
		q := lexical.Parse(someText(r, 6) + " ")
		filter, passes := someSearchFilter(r)
		scores := referenceBM25(nodes, q)
		hits := byWords(t, db, ws, q, filter, 10)
		for _, hit := range hits {
			require.True(t, passes(byID[hit.Node]) && !byID[hit.Node].Deleted)
			require.LessOrEqual(t, hit.Score, scores[hit.Node]+1e-9)
		}
	}
}

// A word of more nodes than a search reads finds the newest of them, and nodes with equal scores are
// sorted newest first.
func TestAWordOfTooManyNodesFindsTheNewest(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	var names, texts []string
	for i := range 400 {
		names, texts = append(names, fmt.Sprintf("n%d", i)), append(texts, "one common reading of many")
	}
	texts[399] = "common common reading"
	ids := insertTexts(t, db, ws, names, texts)
	index(t, db, ws, ids...)
	for _, memory := range []int64{-1, 1 << 20} {
		db.ResetTextCache(memory)
		db.SetSearchLimits(50, 100, 100, 5_000)
		hits := byWords(t, db, ws, lexical.Parse("common "), retrieval.Filter{}, 10)
		require.Len(t, hits, 10)
		for i, hit := range hits {
			require.Equal(t, ids[399-i], hit.Node, "hit %d with %d bytes of memory", i, memory)
		}
	}
}

// dumpLexical returns the contents of the text index without times and revisions.
func dumpLexical(t testing.TB, db *pgtest.DB, ws uuid.UUID) string {
	t.Helper()
	lines, err := db.Strings(t.Context(), `
		SELECT concat_ws(' ', 'node', node_id, digest, length, name_key, terms) FROM lexical_nodes WHERE workspace_id = $1
		AND digest <> ''
		UNION ALL SELECT concat_ws(' ', 'posting', term, node_id, count, length) FROM lexical_postings WHERE workspace_id = $1
		UNION ALL SELECT concat_ws(' ', 'list', term, floor, size) FROM lexical_champion_lists WHERE workspace_id = $1
		UNION ALL SELECT concat_ws(' ', 'champion', term, node_id, count, length) FROM lexical_champions
		WHERE workspace_id = $1
		UNION ALL SELECT concat_ws(' ', 'term', term, nodes) FROM lexical_terms WHERE workspace_id = $1
		UNION ALL SELECT concat_ws(' ', 'totals', nodes, length) FROM lexical_workspaces WHERE workspace_id = $1
		ORDER BY 1`, ws)
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}

func TestHoweverTheNodesCameTheLaneIsAsIfItWereMadeAtOnce(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(5, 9))
	nodes := textNodes(r, 60)
	pgtest.InsertNodes(t, db, ws, nodes)
	for range 120 {
		var ids []uuid.UUID
		for range 1 + r.IntN(8) {
			n := &nodes[r.IntN(len(nodes))]
			ids = append(ids, n.ID)
			switch r.IntN(4) {
			case 0:
				n.Deleted = !n.Deleted
			case 1:
				n.Description = pgtest.Ptr(someText(r, 30))
			case 2:
				n.Name = someText(r, 3)
			}
			require.NoError(
				t,
				db.Exec(
					t.Context(), `UPDATE nodes SET deleted = $3, description = $4, name = $5 WHERE workspace_id = $1 AND id = $2`,
					ws, n.ID, n.Deleted, n.Description, n.Name,
				),
			)
		}
		if r.IntN(3) > 0 { // otherwise it is indexed later, or never
			index(t, db, ws, append(ids, uuid.New())...)
		}
	}
	index(t, db, ws, idsOf(nodes)...)
	before := dumpLexical(t, db, ws)
	done := index(t, db, ws, idsOf(nodes)...)
	require.Equal(t, textindex.LexicalDone{Same: len(nodes)}, done, "the second time nothing is written")
	require.Equal(t, before, dumpLexical(t, db, ws))

	require.NoError(t, db.Exec(t.Context(), `DELETE FROM lexical_nodes`))
	require.NoError(t, db.Exec(t.Context(), `DELETE FROM lexical_postings`))
	require.NoError(t, db.Exec(t.Context(), `DELETE FROM lexical_terms`))
	require.NoError(t, db.Exec(t.Context(), `DELETE FROM lexical_workspaces`))
	index(t, db, ws, idsOf(nodes)...)
	require.Equal(t, before, dumpLexical(t, db, ws))

	for i := range nodes {
		nodes[i].Deleted = true
	}
	require.NoError(t, db.Exec(t.Context(), `UPDATE nodes SET deleted = true`))
	index(t, db, ws, idsOf(nodes)...)
	require.Equal(t, "totals 0 0", dumpLexical(t, db, ws))
}

func TestLongTextsAreWrittenInSeveralTransactions(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	nodes := textNodes(rand.New(rand.NewPCG(1, 1)), 20)
	for i := range nodes {
		var text strings.Builder
		for j := range 5_000 {
			fmt.Fprintf(&text, "w%dx%d ", i%2, j)
		}
		nodes[i].Description, nodes[i].Deleted = pgtest.Ptr(text.String()), false
	}
	pgtest.InsertNodes(t, db, ws, nodes)
	done := index(t, db, ws, idsOf(nodes)...)
	require.Equal(t, 20, done.Written)
	require.Equal(t, 20*lexical.MaxTerms, done.Postings)
	q := lexical.Parse("w1x7 ")
	hits := byWords(t, db, ws, q, retrieval.Filter{}, 100)
	require.Len(t, hits, 20, "all have x and 7, as parts of words")
	require.Greater(t, hits[9].Score, 2*hits[10].Score)
}

func TestTheLaneReportsItsProgressAndWhatItMissed(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	nodes := textNodes(rand.New(rand.NewPCG(2, 2)), 1200)
	pgtest.InsertNodes(t, db, ws, nodes)
	require.NoError(t, db.Exec(t.Context(), `INSERT INTO graph_heads VALUES ($1, 10)`, ws))
	apply := func(nodes []graph.Node, sequences ...int64) textindex.LexicalDone {
		done, err := db.ApplyLexical(t.Context(), []textindex.LexicalWork{
			{Workspace: ws, Nodes: idsOf(nodes), Sequences: sequences},
		})
		require.NoError(t, err)
		return done
	}
	status := func() (s textindex.LexicalStatus) {
		s, err := db.LexicalStatus(t.Context(), ws)
		require.NoError(t, err)
		return s
	}
	require.Zero(t, status().Sequence)
	require.Zero(t, apply(nodes[:1], 1, 2).Gaps)
	require.Zero(t, apply(nodes[:1], 1, 2, 3).Gaps)
	require.EqualValues(t, 3, status().Sequence)
	unfilled := func() []uuid.UUID {
		ids, err := db.UnfilledLexical(t.Context(), 1e15, 10)
		require.NoError(t, err)
		return ids
	}
	require.Empty(t, unfilled())

	require.Equal(t, 1, apply(nodes[1:2], 5).Gaps, "change 4 never came")
	require.True(t, status().Filling)
	require.EqualValues(t, 3, status().Sequence)
	require.Equal(t, []uuid.UUID{ws}, unfilled())
	_, complete, err := db.FillLexical(t.Context(), ws)
	require.NoError(t, err)
	require.False(t, complete)
	require.Zero(t, apply(nodes[:1], 6, 7).Gaps, "the rebuild covers the changes up to 10")
	require.Zero(t, apply(nodes[:1], 11).Gaps)
	for steps := 1; !complete; steps++ {
		require.Less(t, steps, 10)
		_, complete, err = db.FillLexical(t.Context(), ws)
		require.NoError(t, err)
	}
	filled := status()
	require.False(t, filled.Filling)
	require.EqualValues(t, 11, filled.Sequence)
	live := 0
	for i := range nodes {
		if !nodes[i].Deleted {
			live++
		}
	}
	require.EqualValues(t, live, filled.Nodes)
	require.Empty(t, unfilled())
	dump := dumpLexical(t, db, ws)
	index(t, db, ws, idsOf(nodes)...)
	require.Equal(t, dump, dumpLexical(t, db, ws))

	require.NoError(t, db.Exec(t.Context(), `UPDATE lexical_workspaces SET version = 0`))
	require.Equal(t, []uuid.UUID{ws}, unfilled(), "another version of the analysis built it")
}

func TestADeletedWorkspaceLeavesNoTexts(t *testing.T) {
	db := pgtest.Open(t)
	ws, retained := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	db.SetSearchLimits(5, 5, 100, 5_000)
	db.SetChampionLimits(3, 3)
	nodes := textNodes(rand.New(rand.NewPCG(2, 2)), 20)
	for _, in := range []uuid.UUID{ws, retained} {
		pgtest.InsertNodes(t, db, in, nodes)
		index(t, db, in, idsOf(nodes)...)
	}
	require.Positive(t, refreshLists(t, db))
	before := dumpLexical(t, db, retained)
	require.NoError(t, db.DeleteWorkspace(t.Context(), ws, "req_1"))
	require.NoError(t, db.EraseWorkspace(t.Context(), ws, func(int64) error { return nil }))
	require.Empty(t, dumpLexical(t, db, ws))
	done, err := db.ApplyLexical(t.Context(), []textindex.LexicalWork{
		{Workspace: ws, Nodes: idsOf(nodes), Sequences: []int64{1}}, {Workspace: uuid.New(), Sequences: []int64{1}},
	})
	require.NoError(t, err)
	require.Zero(t, done.Written)
	_, over, err := db.FillLexical(t.Context(), ws)
	require.NoError(t, err)
	require.True(t, over)
	require.Empty(t, dumpLexical(t, db, ws), "nothing comes after")
	require.Equal(t, before, dumpLexical(t, db, retained))
}

// All tables are read by indexes, and postings by index-only scans.
func TestASearchIsServedByIndexes(t *testing.T) {
	db := pgtest.Open(t)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	nodes := textNodes(rand.New(rand.NewPCG(2, 2)), 3000)
	pgtest.InsertNodes(t, db, ws, nodes)
	for portion := range slices.Chunk(idsOf(nodes), 1000) {
		index(t, db, ws, portion...)
	}
	require.NoError(t, db.Exec(context.Background(), `VACUUM ANALYZE`))
	r, err := db.Recorder(t.Context())
	require.NoError(t, err)
	r.ResetTextCache(-1) // all is read from the database
	t.Cleanup(r.Close)
	for _, first := range []int64{20_000, 1} {
		for _, f := range []retrieval.Filter{
			{}, {EntityTypes: []string{"actor"}}, {Properties: map[string][]jsontext.Value{"k": {jsontext.Value(`"x"`)}}},
		} {
			r.SetSearchLimits(first, 20_000, 100, 5_000)
			hits := byWords(t, r, ws, lexical.Parse("the turbine of the reactor wat"), f, 10)
			require.NotEmpty(t, hits)
			plans, err := r.Plans(t.Context(), db)
			require.NoError(t, err)
			all := strings.ReplaceAll(strings.Join(plans, "\n\n"), "Index Only Scan Backward", "Index Only Scan")
			require.Contains(t, all, "Index Only Scan using lexical_postings_pkey")
			require.Contains(t, all, "lexical_names")
			require.NotContains(t, all, "Seq Scan on lexical_postings")
			require.NotContains(t, all, "Seq Scan on lexical_nodes")
			require.NotContains(t, all, "Seq Scan on nodes")
		}
	}
}
