package postgres

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// found scores by terms of the same weight and gives the ids of what is found, the best
// first; nil: it cannot.
func found(t *workspaceTexts, texts ...string) (ids []uuid.UUID) {
	var terms []searchTerm
	for _, text := range texts {
		terms = append(terms, searchTerm{text: text, weight: 1})
	}
	best, there := t.score(terms, 1, 0, nil, 10)
	if !there {
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
	texts := newTextMemory(1 << 20).of(uuid.New())
	require.True(t, texts.advance(0, 1, 5, nil, nil))
	require.True(t, texts.keep(5, []string{"pump", "rare"}, [][]posting{{{a, 3, 5}, {b, 1, 5}}, nil}))
	require.Equal(t, []uuid.UUID{a, b}, found(texts, "pump"))
	require.Empty(t, found(texts, "rare"), "it is known that nobody has it")
	require.Nil(t, found(texts, "valve"), "of this nothing is known")

	changes := []textChange{{node: a, length: 5, terms: "pump rare valve", revision: 6}}
	terms, nodes := texts.wanted(changes)
	require.Equal(t, []string{"pump", "rare"}, terms)
	require.Len(t, nodes, 2)
	from, loads := texts.at()
	require.True(t, texts.advance(from, loads, 6, changes, map[string][]posting{"pump": {{a, 1, 5}}, "rare": {{a, 9, 5}}}))
	require.Equal(t, []uuid.UUID{a}, found(texts, "rare"))
	require.Len(t, found(texts, "pump"), 2, "each is found once")
	require.True(t, texts.advance(6, loads, 7, []textChange{{node: b, revision: 7}}, nil))
	require.Equal(t, []uuid.UUID{a}, found(texts, "pump"), "what is gone is not found")
}

func TestTextsInMemoryAreNotMixedWithThoseOfAnotherTime(t *testing.T) {
	a := uuid.New()
	texts := newTextMemory(1 << 20).of(uuid.New())
	require.True(t, texts.advance(0, 1, 5, nil, nil))
	from, loads := texts.at()
	require.True(t, texts.keep(5, []string{"pump"}, [][]posting{{{a, 1, 5}}}))
	changes := []textChange{{node: a, length: 5, terms: "pump", revision: 6}}
	require.False(t, texts.advance(from, loads, 6, changes, nil), "another search added a term whose postings of the change were not read")
	require.Equal(t, []uuid.UUID{a}, found(texts, "pump"))

	_, loads = texts.at()
	require.True(t, texts.advance(5, loads, 6, changes, nil))
	require.False(t, texts.keep(5, []string{"valve"}, [][]posting{{{a, 1, 5}}}), "it was read before the change")
	require.Nil(t, found(texts, "valve"))
	require.True(t, texts.advance(5, loads, 6, changes, nil), "it is as new as that already")
	require.False(t, texts.advance(5, loads, 7, changes, nil), "what changed since 6 was not read")

	texts.renew(6)
	require.NotNil(t, found(texts, "pump"), "it is of then")
	texts.renew(9)
	require.Nil(t, found(texts, "pump"))
	from, _ = texts.at()
	require.EqualValues(t, 9, from)
}

func TestTextsInMemoryAreForgottenWhenMostOfThemAreOld(t *testing.T) {
	a := uuid.New()
	texts := newTextMemory(1 << 20).of(uuid.New())
	require.True(t, texts.keep(0, []string{"pump"}, [][]posting{{{a, 1, 5}}}))
	revision := int64(0)
	for found(texts, "pump") != nil {
		_, loads := texts.at()
		revision++
		require.True(t, texts.advance(revision-1, loads, revision, []textChange{{node: a, length: 5, terms: "pump", revision: revision}}, map[string][]posting{"pump": {{a, 1, 5}}}))
		require.Less(t, revision, int64(2*memorySpoilt))
	}
	require.Greater(t, revision, int64(memorySpoilt))
}

func TestTheMemoryOfTextsForgetsWhatWasNotSearchedForLongest(t *testing.T) {
	memory := newTextMemory(3_000)
	var workspaces []uuid.UUID
	for range 4 {
		ws := uuid.New()
		workspaces = append(workspaces, ws)
		require.True(t, memory.of(ws).keep(0, []string{"pump"}, [][]posting{slices.Repeat([]posting{{uuid.New(), 1, 5}}, 100)}))
	}
	_ = memory.of(workspaces[0])
	memory.fit()
	for n, ws := range workspaces {
		require.Equal(t, n == 0 || n > 1, found(memory.of(ws), "pump") != nil, n)
	}
	var none *textMemory
	require.Nil(t, none.of(workspaces[0]))
}

func TestTheBestAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		all := make([]scoredNode, r.IntN(40))
		for i := range all {
			all[i] = scoredNode{uuid.New(), float64(r.IntN(8))}
		}
		best := bestOf{most: r.IntN(20)}
		for _, n := range all {
			best.add(n)
		}
		slices.SortFunc(all, compareScored)
		slices.SortFunc(best.nodes, compareScored)
		require.Equal(t, all[:min(len(all), best.most)], append([]scoredNode{}, best.nodes...))
	}
}
