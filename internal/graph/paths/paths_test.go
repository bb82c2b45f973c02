package paths_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph/paths"
)

// memory is a graph in memory, which reads like a store: edges beyond a limit are left out.
type memory struct {
	edges  []paths.Edge
	hidden map[uuid.UUID]bool // nodes that paths may not lead through
	reads  int
	most   int // edges of the largest answer
}

func (m *memory) ReadEdges(_ context.Context, read paths.Read) (batch paths.Batch, err error) {
	m.reads++
	visit := func(node uuid.UUID, end func(*paths.Edge) (near, far uuid.UUID)) {
		count := 0
		for i := range m.edges {
			near, far := end(&m.edges[i])
			if near != node {
				continue
			}
			if count++; count > read.MaxPerNode || batch.Examined == read.Limit {
				batch.Truncated = true
				return
			}
			if batch.Examined++; !m.hidden[far] {
				batch.Edges = append(batch.Edges, m.edges[i])
			}
		}
	}
	for _, node := range read.Nodes {
		if read.Out {
			visit(node, func(e *paths.Edge) (near, far uuid.UUID) { return e.Source, e.Target })
		}
		if read.In {
			visit(node, func(e *paths.Edge) (near, far uuid.UUID) { return e.Target, e.Source })
		}
	}
	m.most = max(m.most, batch.Examined)
	return batch, nil
}

// allPaths returns all simple paths of a query in order, by trying every edge at every node.
func allPaths(m *memory, q paths.Query) (found []paths.Path) {
	var walk func(nodes, edges []uuid.UUID, costs []float64)
	walk = func(nodes, edges []uuid.UUID, costs []float64) {
		at := nodes[len(nodes)-1]
		if at == q.To {
			total := 0.0
			for _, cost := range costs {
				total += cost
			}
			found = append(found, paths.Path{Nodes: slices.Clone(nodes), Edges: slices.Clone(edges), Cost: total})
			return
		}
		if len(edges) == q.MaxLength {
			return
		}
		for _, e := range m.edges {
			var to uuid.UUID
			switch {
			case q.Out && e.Source == at:
				to = e.Target
			case q.In && e.Target == at:
				to = e.Source
			default:
				continue
			}
			if slices.Contains(nodes, to) || m.hidden[to] {
				continue
			}
			cost := 0.0
			if q.Weighted {
				cost = e.Cost
			}
			walk(append(slices.Clone(nodes), to), append(slices.Clone(edges), e.ID), append(slices.Clone(costs), cost))
		}
	}
	walk([]uuid.UUID{q.From}, nil, nil)
	slices.SortFunc(found, func(a, b paths.Path) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(len(a.Edges), len(b.Edges)), compareEdges(a, b))
	})
	return found
}

func compareEdges(a, b paths.Path) int {
	return slices.CompareFunc(a.Edges, b.Edges, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

// rounds is the number of random graphs of a test.
const rounds = 20_000

// pick returns one of the values.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomGraph returns a small graph with parallel edges and self loops, and a query. Sums of the
// costs are exact.
func randomGraph(r *rand.Rand) (*memory, paths.Query) {
	id := func(kind byte, n int) uuid.UUID { return uuid.UUID{0: kind, 15: byte(n)} }
	nodes := 2 + r.IntN(7)
	m := &memory{hidden: map[uuid.UUID]bool{}}
	for _, n := range r.Perm(r.IntN(4 + 3*nodes)) {
		m.edges = append(m.edges, paths.Edge{
			ID: id('e', n), Source: id('n', r.IntN(nodes)), Target: id('n', r.IntN(nodes)),
			Cost: pick(r, 0, 0.5, 1, 1, 2, 3, 10),
		})
	}
	q := paths.Query{
		From: id('n', 0), To: id('n', nodes-1), MaxLength: 1 + r.IntN(7), Limit: pick(r, 1, 1, 2, 3, 7, 20),
		Weighted: r.IntN(2) == 0, Out: r.IntN(3) > 0,
	}
	q.In = !q.Out || r.IntN(2) == 0
	for n := 1; n < nodes-1; n++ {
		m.hidden[id('n', n)] = r.IntN(6) == 0
	}
	return m, q
}

func TestPathsAreTheFirstOfAllSimplePaths(t *testing.T) {
	several := 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		m, q := randomGraph(r)
		limits := paths.DefaultLimits()
		limits.FirstRead, limits.FirstNodes = pick(r, 1, 2, 5, 100), pick(r, 1, 1, 2, 100)
		want := allPaths(m, q)
		got, err := paths.Find(t.Context(), m, q, limits)
		require.NoError(t, err)
		require.False(t, got.Truncated)
		require.Equal(t, want[:min(len(want), q.Limit)], got.Paths, "seed %d, %+v", seed, q)
		if len(got.Paths) > 2 {
			several++
		}
	}
	require.Greater(t, several, rounds/10)
}

// Whatever the limits, what is returned are paths in order, and an answer that is not marked is exact.
func TestALimitedSearchReturnsPathsAndReportsThatItEnded(t *testing.T) {
	truncated := 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 2))
		m, q := randomGraph(r)
		limits := paths.Limits{
			Edges: r.IntN(20), Nodes: 2 + r.IntN(7), Work: pick(r, 0, 5, 20, 100, 10_000), FirstRead: 2, FirstNodes: 1,
		}
		all := allPaths(m, q)
		got, err := paths.Find(t.Context(), m, q, limits)
		require.NoError(t, err)
		require.LessOrEqual(t, got.Edges, limits.Edges)
		require.LessOrEqual(t, got.Nodes, limits.Nodes)
		require.LessOrEqual(t, len(got.Paths), q.Limit)
		if !got.Truncated {
			require.Equal(t, all[:min(len(all), q.Limit)], got.Paths, "seed %d, %+v", seed, q)
			continue
		}
		truncated++
		last := -1
		for _, p := range got.Paths {
			i := slices.IndexFunc(all, func(other paths.Path) bool { return compareEdges(p, other) == 0 })
			require.Greater(t, i, last, "seed %d: paths exist and are in order", seed)
			require.Equal(t, all[i], p)
			last = i
		}
	}
	require.Greater(t, truncated, rounds/10)
}

// star returns a hub with many edges, one of which leads to a node with an edge to the end.
func star(size int) (m *memory, hub, end uuid.UUID) {
	m, hub, end = &memory{}, uuid.New(), uuid.New()
	for n := range size {
		leaf := uuid.New()
		m.edges = append(m.edges, paths.Edge{ID: uuid.New(), Source: hub, Target: leaf, Cost: 1})
		if n == size-1 {
			m.edges = append(m.edges, paths.Edge{ID: uuid.New(), Source: leaf, Target: end, Cost: 1})
		}
	}
	return m, hub, end
}

func TestTheEdgesOfAHubAreNotReadIfTheOtherEndSuffices(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		m, hub, end := star(150_000)
		for _, ends := range [][2]uuid.UUID{{hub, end}, {end, hub}} {
			m.most = 0
			got, err := paths.Find(t.Context(), m, paths.Query{
				From: ends[0], To: ends[1], MaxLength: 6, Limit: 1, Out: true, In: true, Weighted: weighted,
			}, paths.DefaultLimits())
			require.NoError(t, err)
			require.Len(t, got.Paths, 1)
			require.Len(t, got.Paths[0].Edges, 2)
			require.LessOrEqual(t, m.most, paths.DefaultLimits().FirstRead)
			require.False(t, got.Truncated)
		}
	}
}

func TestASearchBetweenHubsEndsAtItsLimit(t *testing.T) {
	m, hub, _ := star(120_000)
	other, otherHub, _ := star(120_000)
	m.edges = append(m.edges, other.edges...)
	got, err := paths.Find(t.Context(), m, paths.Query{
		From: hub, To: otherHub, MaxLength: 6, Limit: 20, Out: true, In: true,
	}, paths.DefaultLimits())
	require.NoError(t, err)
	require.Empty(t, got.Paths)
	require.True(t, got.Truncated)
	require.LessOrEqual(t, got.Nodes, paths.DefaultLimits().Nodes)
	require.LessOrEqual(t, m.most, paths.DefaultLimits().Edges)
}

// A complete graph has very many paths, and those of two parallel edges in each step as many of one length.
func TestManyPathsAreListedInBoundedWork(t *testing.T) {
	complete, ids := &memory{}, make([]uuid.UUID, 60)
	for i := range ids {
		ids[i] = uuid.New()
		for _, other := range ids[:i] {
			complete.edges = append(complete.edges, paths.Edge{ID: uuid.New(), Source: other, Target: ids[i], Cost: 1})
		}
	}
	ladder, rungs := &memory{}, ids[:11]
	for i := range rungs[1:] {
		for range 8 {
			ladder.edges = append(ladder.edges, paths.Edge{ID: uuid.New(), Source: rungs[i], Target: rungs[i+1], Cost: 1})
		}
	}
	for _, c := range []struct {
		graph *memory
		to    uuid.UUID
	}{{complete, ids[59]}, {ladder, rungs[10]}} {
		for _, weighted := range []bool{false, true} {
			got, err := paths.Find(t.Context(), c.graph, paths.Query{
				From: ids[0], To: c.to, MaxLength: 10, Limit: 20, Out: true, In: true, Weighted: weighted,
			}, paths.DefaultLimits())
			require.NoError(t, err)
			require.Len(t, got.Paths, 20)
			require.False(t, got.Truncated)
			require.True(t, slices.IsSortedFunc(got.Paths, func(a, b paths.Path) int {
				return cmp.Or(cmp.Compare(len(a.Edges), len(b.Edges)), compareEdges(a, b))
			}))
		}
	}
}

func TestAPathFromANodeToItselfIsEmpty(t *testing.T) {
	id := uuid.New()
	m := &memory{edges: []paths.Edge{{ID: uuid.New(), Source: id, Target: id}}}
	q := paths.Query{From: id, To: id, MaxLength: 3, Limit: 5, Out: true}
	got, err := paths.Find(t.Context(), m, q, paths.Limits{})
	require.NoError(t, err)
	require.Equal(t, []paths.Path{{Nodes: []uuid.UUID{id}}}, got.Paths)
	require.Zero(t, m.reads)
}

func TestAPathOfInfiniteCostIsNotReturned(t *testing.T) {
	a, b, c := uuid.New(), uuid.New(), uuid.New()
	m := &memory{edges: []paths.Edge{
		{ID: uuid.New(), Source: a, Target: b, Cost: 1e308}, {ID: uuid.New(), Source: b, Target: c, Cost: 1e308},
	}}
	q := paths.Query{From: a, To: c, MaxLength: 3, Limit: 5, Out: true, Weighted: true}
	got, err := paths.Find(t.Context(), m, q, paths.DefaultLimits())
	require.NoError(t, err)
	require.Empty(t, got.Paths)
	q.Weighted = false
	got, err = paths.Find(t.Context(), m, q, paths.DefaultLimits())
	require.NoError(t, err)
	require.Len(t, got.Paths, 1)
}

type failing struct{ err error }

func (f failing) ReadEdges(context.Context, paths.Read) (paths.Batch, error) {
	return paths.Batch{}, f.err
}

func TestASearchEndsWithTheErrorOfItsReaderOrContext(t *testing.T) {
	q := paths.Query{From: uuid.New(), To: uuid.New(), MaxLength: 3, Limit: 1, Out: true}
	broken := errors.New("broken")
	_, err := paths.Find(t.Context(), failing{broken}, q, paths.DefaultLimits())
	require.ErrorIs(t, err, broken)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = paths.Find(ended, &memory{}, q, paths.DefaultLimits())
	require.ErrorIs(t, err, context.Canceled)
}
