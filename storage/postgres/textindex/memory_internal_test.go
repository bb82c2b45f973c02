package textindex

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
	require.False(
		t, texts.advance(from, loads, 6, changes, nil),
		"another search added a term whose postings of the change were not read",
	)
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
		require.True(t, texts.advance(
			revision-1, loads, revision, []textChange{{node: a, length: 5, terms: "pump", revision: revision}},
			map[string][]posting{"pump": {{a, 1, 5}}},
		))
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
		require.True(t, memory.of(ws).keep(0, []string{"pump"}, [][]posting{slices.Repeat(
			[]posting{{uuid.New(), 1, 5}}, 100,
		)}))
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
		texts, sums, most := &workspaceTexts{}, []float64{}, r.IntN(20)
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
