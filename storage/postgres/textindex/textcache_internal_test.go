package textindex

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// rankedIDs scores nodes by terms of the same weight and returns their ids, best first. It returns nil
// if a term is not cached.
func rankedIDs(t *workspaceCache, texts ...string) (ids []uuid.UUID) {
	var terms []searchTerm
	for _, text := range texts {
		terms = append(terms, searchTerm{text: text, weight: 1})
	}
	best, ok := t.score(terms, 1, 0, nil, 10)
	if !ok {
		return nil
	}
	slices.SortFunc(best, compareScored)
	ids = []uuid.UUID{}
	for _, n := range best {
		ids = append(ids, n.id)
	}
	return ids
}

func TestTextsInMemoryFollowWhatChanges(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	texts := newTextCache(1 << 20).workspace(uuid.New())
	require.True(t, texts.advance(0, 1, 5, nil, nil))
	require.True(t, texts.addTerms(5, []string{"pump", "rare"}, [][]posting{{{a, 3, 5}, {b, 1, 5}}, nil}))
	require.Equal(t, []uuid.UUID{a, b}, rankedIDs(texts, "pump"))
	require.Empty(t, rankedIDs(texts, "rare"), "it is cached that no node has the term")
	require.Nil(t, rankedIDs(texts, "valve"), "the term is not cached")

	changes := []textChange{{node: a, length: 5, terms: "pump rare valve", revision: 6}}
	terms, nodes := texts.cachedPostings(changes)
	require.Equal(t, []string{"pump", "rare"}, terms)
	require.Len(t, nodes, 2)
	from, loads := texts.version()
	require.True(t, texts.advance(from, loads, 6, changes, map[string][]posting{"pump": {{a, 1, 5}}, "rare": {{a, 9, 5}}}))
	require.Equal(t, []uuid.UUID{a}, rankedIDs(texts, "rare"))
	require.Len(t, rankedIDs(texts, "pump"), 2, "each is found once")
	require.True(t, texts.advance(6, loads, 7, []textChange{{node: b, revision: 7}}, nil))
	require.Equal(t, []uuid.UUID{a}, rankedIDs(texts, "pump"), "a removed node is not found")
}

func TestTextsInMemoryAreNotMixedWithThoseOfAnotherTime(t *testing.T) {
	a := uuid.New()
	texts := newTextCache(1 << 20).workspace(uuid.New())
	require.True(t, texts.advance(0, 1, 5, nil, nil))
	from, loads := texts.version()
	require.True(t, texts.addTerms(5, []string{"pump"}, [][]posting{{{a, 1, 5}}}))
	changes := []textChange{{node: a, length: 5, terms: "pump", revision: 6}}
	require.False(
		t, texts.advance(from, loads, 6, changes, nil),
		"another search added a term whose postings of the change were not read",
	)
	require.Equal(t, []uuid.UUID{a}, rankedIDs(texts, "pump"))

	_, loads = texts.version()
	require.True(t, texts.advance(5, loads, 6, changes, nil))
	require.False(t, texts.addTerms(5, []string{"valve"}, [][]posting{{{a, 1, 5}}}), "it was read before the change")
	require.Nil(t, rankedIDs(texts, "valve"))
	require.True(t, texts.advance(5, loads, 6, changes, nil), "the cache is as new already")
	require.False(t, texts.advance(5, loads, 7, changes, nil), "what changed since 6 was not read")

	texts.reset(6)
	require.NotNil(t, rankedIDs(texts, "pump"), "the cache has that revision already")
	texts.reset(9)
	require.Nil(t, rankedIDs(texts, "pump"))
	from, _ = texts.version()
	require.EqualValues(t, 9, from)
}

func TestTextsInMemoryAreForgottenWhenMostOfThemAreOld(t *testing.T) {
	a := uuid.New()
	texts := newTextCache(1 << 20).workspace(uuid.New())
	require.True(t, texts.addTerms(0, []string{"pump"}, [][]posting{{{a, 1, 5}}}))
	revision := int64(0)
	for rankedIDs(texts, "pump") != nil {
		_, loads := texts.version()
		revision++
		require.True(t, texts.advance(
			revision-1, loads, revision, []textChange{{node: a, length: 5, terms: "pump", revision: revision}},
			map[string][]posting{"pump": {{a, 1, 5}}},
		))
		require.Less(t, revision, int64(2*maxStaleNodes))
	}
	require.Greater(t, revision, int64(maxStaleNodes))
}

func TestTheMemoryOfTextsForgetsWhatWasNotSearchedForLongest(t *testing.T) {
	memory := newTextCache(3_000)
	var workspaces []uuid.UUID
	for range 4 {
		ws := uuid.New()
		workspaces = append(workspaces, ws)
		require.True(t, memory.workspace(ws).addTerms(0, []string{"pump"}, [][]posting{slices.Repeat(
			[]posting{{uuid.New(), 1, 5}}, 100,
		)}))
	}
	_ = memory.workspace(workspaces[0])
	memory.evict()
	for n, ws := range workspaces {
		require.Equal(t, n == 0 || n > 1, rankedIDs(memory.workspace(ws), "pump") != nil, n)
	}
	var none *textCache
	require.Nil(t, none.workspace(workspaces[0]))
}

func TestTheBestAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		texts, sums, most := &workspaceCache{}, []float64{}, r.IntN(20)
		all := []scoredNode{}
		for range r.IntN(40) {
			n := scoredNode{uuid.New(), float64(r.IntN(8))}
			texts.nodes, sums = append(texts.nodes, textNode{id: n.id}), append(sums, n.score)
			if n.score > 0 {
				all = append(all, n)
			}
		}
		best := append([]scoredNode{}, texts.best(sums, most)...)
		slices.SortFunc(all, compareScored)
		slices.SortFunc(best, compareScored)
		require.Equal(t, all[:min(len(all), most)], best)
	}
}

func TestTheNthGreatestIsThatOfTheSortedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		values := make([]float64, 1+r.IntN(3000))
		kinds, rising := 1+r.IntN(len(values)), r.IntN(3)
		for i := range values {
			switch rising {
			case 0:
				values[i] = float64(r.IntN(kinds))
			case 1:
				values[i] = float64(i / kinds)
			default: // an organ pipe: medians of three divide it badly
				values[i] = float64(min(i, len(values)-i))
			}
		}
		n := 1 + r.IntN(len(values))
		sorted := slices.Sorted(slices.Values(values))
		require.Equal(t, sorted[len(sorted)-n], nthGreatest(values, n))
	}
}
