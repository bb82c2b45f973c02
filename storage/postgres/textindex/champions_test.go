package textindex_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// refreshLists refreshes all champion lists that are due, and returns their number.
func refreshLists(t testing.TB, db *pgtest.DB) int {
	t.Helper()
	lists, err := db.DueChampionLists(t.Context(), 1_000_000)
	require.NoError(t, err)
	for _, list := range lists {
		require.NoError(t, db.RefreshChampionList(t.Context(), list))
	}
	return len(lists)
}

// lowerLimits sets the limits so that words of more than 100 nodes have 20 champions, and the 10 newest
// nodes are read besides them.
func lowerLimits(dbs ...*pgtest.DB) {
	for _, db := range dbs {
		db.SetSearchLimits(50, 100, 100, 5_000)
		db.SetChampionLimits(20, 10)
	}
}

// insertCommonTexts inserts and indexes nodes that all have a word, once in a text of several words.
func insertCommonTexts(t testing.TB, db *pgtest.DB, ws uuid.UUID, n int) []uuid.UUID {
	t.Helper()
	var names, texts []string
	for i := range n {
		names, texts = append(names, fmt.Sprintf("n%d", i)), append(texts, "one common reading of many")
	}
	ids := insertTexts(t, db, ws, names, texts)
	for part := range slices.Chunk(ids, 100) {
		index(t, db, ws, part...)
	}
	return ids
}

// rewrite changes the text of a node.
func rewrite(t testing.TB, db *pgtest.DB, ws, id uuid.UUID, text string) {
	t.Helper()
	require.NoError(t, db.Exec(
		t.Context(), `UPDATE nodes SET description = $3 WHERE workspace_id = $1 AND id = $2`, ws, id, text,
	))
	index(t, db, ws, id)
}

// remove deletes or restores nodes.
func remove(t testing.TB, db *pgtest.DB, ws uuid.UUID, deleted bool, ids ...uuid.UUID) {
	t.Helper()
	require.NoError(t, db.Exec(
		t.Context(), `UPDATE nodes SET deleted = $3 WHERE workspace_id = $1 AND id = ANY($2)`, ws, ids, deleted,
	))
	index(t, db, ws, ids...)
}

// requireCut checks the first hits of a search for the common word, and which postings were read.
func requireCut(t testing.TB, db *pgtest.DB, ws uuid.UUID, cut retrieval.TextTruncation, first ...uuid.UUID) {
	t.Helper()
	for _, memory := range []int64{-1, 1 << 20} {
		db.ResetTextCache(memory)
		found, err := db.SearchText(t.Context(), ws, lexical.Parse("common "), retrieval.Filter{}, 10, 0)
		require.NoError(t, err)
		require.Equal(t, cut, found.Truncation)
		require.Len(t, found.Hits, 10)
		for i, id := range first {
			require.Equal(t, id, found.Hits[i].Node, "hit %d with %d bytes of memory", i, memory)
		}
	}
}

// requireLists checks that every champion list agrees with the postings.
func requireLists(t testing.TB, db *pgtest.DB) {
	t.Helper()
	const impact = `(p.count::bigint * 4096 * l.average / (l.average + 3 * p.length::bigint))`
	read := func(query string) string {
		rows, err := db.Strings(t.Context(), query)
		require.NoError(t, err)
		return strings.Join(rows, "\n")
	}
	want := read(`SELECT concat_ws(' ', p.workspace_id, p.term, p.node_id, p.count, p.length) FROM lexical_postings p
		JOIN lexical_champion_lists l ON l.workspace_id = p.workspace_id AND l.term = p.term
		WHERE ` + impact + ` > l.floor OR ` + impact + ` = l.floor AND p.node_id <= l.floor_node ORDER BY 1`)
	require.Equal(
		t, want,
		read(`SELECT concat_ws(' ', p.workspace_id, p.term, p.node_id, p.count, p.length) FROM lexical_champions p
		JOIN lexical_champion_lists l ON l.workspace_id = p.workspace_id AND l.term = p.term WHERE l.floor IS NOT NULL
		ORDER BY 1`),
	)
	require.Empty(
		t,
		read(`SELECT l.term || ' has ' || l.size FROM lexical_champion_lists l WHERE l.floor IS NOT NULL AND l.size <>
		(SELECT count(*) FROM lexical_champions p WHERE p.workspace_id = l.workspace_id AND p.term = l.term)`),
	)
}

func TestAWordOfTooManyNodesFindsTheHeaviestHoweverOldItIs(t *testing.T) {
	for name, place := range map[string]int{"oldest": 0, "middle": 150, "newest": 399} {
		t.Run(name, func(t *testing.T) {
			db := pgtest.Open(t)
			lowerLimits(db)
			ws := pgtest.LimitedWorkspace(t, db, 1, 1)
			ids := insertCommonTexts(t, db, ws, 400)
			rewrite(t, db, ws, ids[place], "common common reading")
			require.Positive(t, refreshLists(t, db))
			requireCut(t, db, ws, retrieval.TextTopWeighted, ids[place])
			requireLists(t, db)

			rewrite(t, db, ws, ids[place], "nothing of it")
			rewrite(t, db, ws, ids[200], "common common common")
			requireCut(t, db, ws, retrieval.TextTopWeighted, ids[200])
			rewrite(t, db, ws, ids[place], "common reading")
			requireCut(t, db, ws, retrieval.TextTopWeighted, ids[200], ids[place])
			remove(t, db, ws, true, ids[200])
			requireCut(t, db, ws, retrieval.TextTopWeighted, ids[place])
			remove(t, db, ws, false, ids[200])
			requireCut(t, db, ws, retrieval.TextTopWeighted, ids[200], ids[place])
			requireLists(t, db)
		})
	}
}

// The two words have high impacts in different nodes, and medium impacts in one node, which is first in
// neither list.
func TestTwoFrequentWordsFindTheNodeThatBothSuit(t *testing.T) {
	db := pgtest.Open(t)
	lowerLimits(db)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	ids := insertCommonTexts(t, db, ws, 400)
	rewrite(t, db, ws, ids[7], "common reading")
	for i := 30; i < 40; i++ {
		rewrite(t, db, ws, ids[i], "common common of many many many many")
		rewrite(t, db, ws, ids[i+10], "one reading reading of many many many many")
	}
	refreshLists(t, db)
	found, err := db.SearchText(t.Context(), ws, lexical.Parse("common reading "), retrieval.Filter{}, 10, 0)
	require.NoError(t, err)
	require.Equal(t, ids[7], found.Hits[0].Node)
	require.Equal(t, retrieval.TextTopWeighted, found.Truncation)
}

func TestAListThatLosesItsNodesIsFilledAgain(t *testing.T) {
	db := pgtest.Open(t)
	lowerLimits(db)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	ids := insertCommonTexts(t, db, ws, 400)
	for i, id := range ids[:60] {
		rewrite(t, db, ws, id, strings.Repeat("common ", 6)+strings.Repeat(" reading", 1+i))
	}
	refreshLists(t, db)
	require.Zero(t, refreshLists(t, db))
	for i := range 4 { // the next 20 of the 60 become champions
		remove(t, db, ws, true, ids[11*i:11*i+11]...)
		require.Positive(t, refreshLists(t, db))
		requireCut(t, db, ws, retrieval.TextTopWeighted, ids[11*i+11], ids[11*i+12])
		requireLists(t, db)
	}
	for i, id := range ids[200:250] { // more than twice the size of the list is added to it
		rewrite(t, db, ws, id, strings.Repeat("common ", 20)+strings.Repeat(" one", 1+i))
	}
	requireCut(t, db, ws, retrieval.TextTopWeighted, ids[200], ids[201])
	require.Positive(t, refreshLists(t, db))
	requireCut(t, db, ws, retrieval.TextTopWeighted, ids[200], ids[201])
	requireLists(t, db)

	remove(t, db, ws, true, ids[:350]...)
	refreshLists(t, db)
	remaining, err := db.Strings(
		t.Context(), `SELECT term FROM lexical_champion_lists UNION ALL SELECT term FROM lexical_champions`,
	)
	require.NoError(t, err)
	require.Empty(t, remaining, "no word is frequent enough for a list")
}

// An older version without champion lists, which runs until all processes are updated, writes postings
// without updating the lists.
func TestAWriterWithoutListsInvalidatesThem(t *testing.T) {
	db := pgtest.Open(t)
	lowerLimits(db)
	ws, other := pgtest.LimitedWorkspace(t, db, 1, 1), pgtest.LimitedWorkspace(t, db, 1, 1)
	ids := insertCommonTexts(t, db, ws, 400)
	insertCommonTexts(t, db, other, 400)
	rewrite(t, db, ws, ids[0], "common common")
	rewrite(t, db, ws, ids[1], "common common of")
	refreshLists(t, db)
	requireCut(t, db, ws, retrieval.TextTopWeighted, ids[0], ids[1])

	require.NoError(t, db.Exec(
		t.Context(), `UPDATE lexical_postings SET count = 9 WHERE workspace_id = $1 AND node_id = $2 AND term = 'common'`, ws,
		ids[5],
	))
	require.NoError(t, db.Exec(
		t.Context(), `UPDATE lexical_nodes SET length = length WHERE workspace_id = $1 AND node_id = $2`, ws, ids[5],
	))
	requireCut(t, db, ws, retrieval.TextNewest)
	requireCut(t, db, other, retrieval.TextTopWeighted)
	rewrite(t, db, ws, ids[6], "common common of one")
	require.Positive(t, refreshLists(t, db))
	requireCut(t, db, ws, retrieval.TextTopWeighted, ids[5], ids[0], ids[1], ids[6])
	requireLists(t, db)
}

func TestTextsFromBeforeTheListsGetThem(t *testing.T) {
	url := testenv.Postgres(t)
	db, err := pgtest.Connect(t.Context(), url, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.MigrateTo(t.Context(), 32))
	ws, rare := uuid.New(), uuid.New()
	require.NoError(t, db.Exec(
		t.Context(), `INSERT INTO lexical_terms VALUES ($1, 'common', 20001), ($1, 'rare', 20000), ($2, 'common', 7)`, ws,
		rare,
	))
	require.NoError(t, db.Migrate(t.Context()))
	lists, err := db.DueChampionLists(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []textindex.ChampionList{{Workspace: ws, Term: "common"}}, lists)
}

func TestALaneThatIsMadeAgainHasItsLists(t *testing.T) {
	db := pgtest.Open(t)
	lowerLimits(db)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	ids := insertCommonTexts(t, db, ws, 400)
	require.NoError(t, db.Exec(t.Context(), `INSERT INTO graph_heads VALUES ($1, 1)`, ws))
	rewrite(t, db, ws, ids[3], "common common")
	refreshLists(t, db)
	fill := func() {
		for over := false; !over; {
			var err error
			_, over, err = db.FillLexical(t.Context(), ws)
			require.NoError(t, err)
		}
	}
	for _, table := range []string{
		"lexical_nodes", "lexical_postings", "lexical_terms", "lexical_workspaces", "lexical_champions",
		"lexical_champion_lists",
	} {
		require.NoError(t, db.Exec(t.Context(), `DELETE FROM `+table))
	}
	fill()
	require.Positive(t, refreshLists(t, db))
	requireCut(t, db, ws, retrieval.TextTopWeighted, ids[3])
	requireLists(t, db)

	// Another version of the analysis writes all rows again.
	require.NoError(t, db.Exec(t.Context(), `UPDATE lexical_workspaces SET version = 0`))
	require.NoError(t, db.Exec(t.Context(), `UPDATE lexical_nodes SET digest = 'other'`))
	fill()
	refreshLists(t, db)
	requireCut(t, db, ws, retrieval.TextTopWeighted, ids[3])
	requireLists(t, db)
}

// Writes and refreshes of lists run concurrently.
func TestListsAreRightWhileOthersWrite(t *testing.T) {
	url := testenv.Postgres(t)
	writer, maintainer := pgtest.OpenAt(t, url), pgtest.OpenAt(t, url)
	lowerLimits(writer, maintainer)
	ws := pgtest.LimitedWorkspace(t, writer, 1, 1)
	r := rand.New(rand.NewPCG(12, 1))
	nodes := textNodes(r, 300)
	pgtest.InsertNodes(t, writer, ws, nodes)
	index(t, writer, ws, idsOf(nodes)...)
	ctx, stop := context.WithCancel(t.Context())
	var maintenance sync.WaitGroup
	maintenance.Go(func() {
		for ctx.Err() == nil {
			lists, err := maintainer.DueChampionLists(t.Context(), 100)
			for _, list := range lists {
				if err == nil {
					err = maintainer.RefreshChampionList(t.Context(), list)
				}
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for round := range 60 {
		index(t, writer, ws, changeTexts(t, writer, ws, r, nodes, 1+r.IntN(30))...)
		if round%20 == 10 { // a write of a version without lists
			require.NoError(t, writer.Exec(
				t.Context(), `UPDATE lexical_nodes SET length = length WHERE node_id = $1`, nodes[0].ID,
			))
		}
	}
	stop()
	maintenance.Wait()
	refreshLists(t, maintainer)
	requireLists(t, writer)
	// With the current average length, the best nodes of a word are exactly the best of its list.
	require.NoError(t, writer.Exec(t.Context(), `UPDATE lexical_champion_lists SET floor = NULL, due = true`))
	refreshLists(t, maintainer)
	requireLists(t, writer)
	lists, err := writer.Strings(t.Context(), `SELECT term FROM lexical_champion_lists WHERE floor IS NOT NULL`)
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, term := range lists {
		if len(lexical.Parse(term+" ").Terms) == 1 {
			requireBest10(t, writer, ws, nodes, term)
		}
	}
}

// Every hit of a search for frequent words passes the filter and has the exact score of all words of the
// query.
func TestWhatChampionsFindIsScoredWhole(t *testing.T) {
	db := pgtest.Open(t)
	lowerLimits(db)
	ws := pgtest.LimitedWorkspace(t, db, 1, 1)
	r := rand.New(rand.NewPCG(14, 1))
	nodes := textNodes(r, 400)
	pgtest.InsertNodes(t, db, ws, nodes)
	index(t, db, ws, idsOf(nodes)...)
	require.Positive(t, refreshLists(t, db))
	byID := map[uuid.UUID]*graph.Node{}
	for i := range nodes {
		byID[nodes[i].ID] = &nodes[i]
	}
	cuts := 0
	for round := range 200 {
		db.SetSearchLimits(50, 100, 100, []int{5_000, 5}[round%2])
		q := lexical.Parse(someText(r, 4) + " ")
		filter, passes := someSearchFilter(r)
		scores := referenceBM25(nodes, q)
		found, err := db.SearchText(t.Context(), ws, q, filter, 10, 0)
		require.NoError(t, err)
		if found.Truncation == retrieval.TextTopWeighted {
			cuts++
		}
		for _, hit := range found.Hits {
			require.True(t, passes(byID[hit.Node]) && !byID[hit.Node].Deleted)
			require.InDelta(t, scores[hit.Node], hit.Score, 1e-9, "of %v with %v", q.Terms, filter)
		}
	}
	require.Greater(t, cuts, 50)
}

// requireBest10 compares the ten best nodes of a word with the formula.
func requireBest10(t testing.TB, db *pgtest.DB, ws uuid.UUID, nodes []graph.Node, word string) {
	t.Helper()
	q := lexical.Parse(word + " ")
	scores := referenceBM25(nodes, q)
	var want []float64
	for _, score := range scores {
		want = append(want, score)
	}
	slices.Sort(want)
	slices.Reverse(want)
	for i, hit := range byWords(t, db, ws, q, retrieval.Filter{}, 10) {
		require.InDelta(t, scores[hit.Node], hit.Score, 1e-9, word)
		require.InDelta(t, want[i], hit.Score, 1e-9, word)
	}
}
