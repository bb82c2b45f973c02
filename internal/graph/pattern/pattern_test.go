package pattern_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph/pattern"
)

type edge struct {
	id, source, target uuid.UUID
	relation           string
}

// memory is a graph in memory with the nodes that meet the conditions of each node of a pattern.
type memory struct {
	edges []edge
	meets []map[uuid.UUID]bool
}

func (m *memory) candidates(node int) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(m.meets[node]), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

func (m *memory) Start(_ context.Context, nodes []int, limit int) (int, []uuid.UUID, bool, error) {
	best := slices.MinFunc(nodes, func(a, b int) int { return len(m.meets[a]) - len(m.meets[b]) })
	found := m.candidates(best)
	return best, found[:min(limit, len(found))], len(found) > limit, nil
}

func (m *memory) Select(_ context.Context, node int, ids []uuid.UUID) (selected []uuid.UUID, err error) {
	for _, id := range ids {
		if m.meets[node][id] {
			selected = append(selected, id)
		}
	}
	return selected, nil
}

func (m *memory) Steps(_ context.Context, read pattern.Read) (steps []pattern.Step, complete []uuid.UUID, err error) {
	for _, node := range read.Nodes {
		for _, e := range m.edges {
			if len(read.RelationTypes) > 0 && !slices.Contains(read.RelationTypes, e.relation) {
				continue
			}
			var to uuid.UUID
			switch {
			case read.Out && e.source == node:
				to = e.target
			case read.In && e.target == node:
				to = e.source
			default:
				continue
			}
			if len(steps) == read.Limit {
				return steps, complete, nil
			}
			steps = append(steps, pattern.Step{Edge: e.id, From: node, To: to})
		}
		complete = append(complete, node)
	}
	return steps, complete, nil
}

// trails returns all trails of an edge of a pattern, by trying every sequence of distinct edges.
func (m *memory) trails(e pattern.Edge, from, to uuid.UUID) (found [][]uuid.UUID) {
	var walk func(at uuid.UUID, trail []uuid.UUID)
	walk = func(at uuid.UUID, trail []uuid.UUID) {
		if at == to && len(trail) >= e.MinLength {
			found = append(found, slices.Clone(trail))
		}
		if len(trail) == e.MaxLength {
			return
		}
		for _, c := range m.edges {
			if slices.Contains(trail, c.id) || (e.RelationTypes != nil && !slices.Contains(e.RelationTypes, c.relation)) {
				continue
			}
			if e.Out && c.source == at {
				walk(c.target, append(slices.Clone(trail), c.id))
			}
			if e.In && c.target == at && (!e.Out || c.source != c.target) {
				walk(c.source, append(slices.Clone(trail), c.id))
			}
		}
	}
	walk(from, nil)
	return found
}

// matches returns all matches of a pattern, by trying every assignment of nodes and trails.
func (m *memory) matches(p pattern.Pattern) []pattern.Match {
	required := p.Required()
	assignments := [][]uuid.UUID{make([]uuid.UUID, p.Nodes)}
	for node := range p.Nodes {
		if !required[node] {
			continue
		}
		var next [][]uuid.UUID
		for _, assigned := range assignments {
			for _, id := range m.candidates(node) {
				a := slices.Clone(assigned)
				a[node] = id
				next = append(next, a)
			}
		}
		assignments = next
	}
	var found []pattern.Match
	for _, nodes := range assignments {
		if m.hasAbsent(p, nodes, required) {
			continue
		}
		found = append(found, m.assignTrails(p, pattern.Match{Nodes: nodes, Trails: make([][]uuid.UUID, len(p.Edges))}, 0)...)
	}
	return found
}

func (m *memory) assignTrails(p pattern.Pattern, match pattern.Match, edge int) (found []pattern.Match) {
	if edge == len(p.Edges) {
		return []pattern.Match{match}
	}
	e := p.Edges[edge]
	if e.Absent {
		return m.assignTrails(p, match, edge+1)
	}
	used := slices.Concat(match.Trails...)
	for _, trail := range m.trails(e, match.Nodes[e.From], match.Nodes[e.To]) {
		if slices.ContainsFunc(trail, func(id uuid.UUID) bool { return slices.Contains(used, id) }) {
			continue
		}
		n := pattern.Match{Nodes: match.Nodes, Trails: slices.Clone(match.Trails)}
		n.Trails[edge] = trail
		found = append(found, m.assignTrails(p, n, edge+1)...)
	}
	return found
}

func (m *memory) hasAbsent(p pattern.Pattern, nodes []uuid.UUID, required []bool) bool {
	ends := func(node int) []uuid.UUID {
		if required[node] {
			return nodes[node : node+1]
		}
		return m.candidates(node)
	}
	for _, e := range p.Edges {
		if !e.Absent {
			continue
		}
		for _, from := range ends(e.From) {
			for _, to := range ends(e.To) {
				if len(m.trails(e, from, to)) > 0 {
					return true
				}
			}
		}
	}
	return false
}

func id(kind byte, n int) uuid.UUID { return uuid.UUID{0: kind, 15: byte(n + 1)} }

// drawGraph returns a small graph with parallel edges and loops, in which some nodes meet the conditions of each of
// nodes nodes of a pattern. It has at most six edges: a pattern of three trails has about 12,000 matches in six loops
// of one node, but millions in nine.
func drawGraph(t *rapid.T, nodes int) *memory {
	n := rapid.IntRange(1, 5).Draw(t, "nodes of the graph")
	m := &memory{}
	for i := range rapid.IntRange(0, 6).Draw(t, "edges of the graph") {
		m.edges = append(m.edges, edge{
			id: id('e', i), source: id('n', rapid.IntRange(0, n-1).Draw(t, "source")),
			target:   id('n', rapid.IntRange(0, n-1).Draw(t, "target")),
			relation: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "relation"),
		})
	}
	for range nodes {
		meets := map[uuid.UUID]bool{}
		for i := range n {
			if rapid.IntRange(0, 3).Draw(t, "meets") > 0 {
				meets[id('n', i)] = true
			}
		}
		m.meets = append(m.meets, meets)
	}
	return m
}

func drawPattern(t *rapid.T) pattern.Pattern {
	p := pattern.Pattern{Nodes: rapid.IntRange(1, 4).Draw(t, "nodes")}
	for range rapid.IntRange(0, 4).Draw(t, "edges") {
		shortest := rapid.IntRange(1, 2).Draw(t, "minLength")
		e := pattern.Edge{
			From: rapid.IntRange(0, p.Nodes-1).Draw(t, "from"), To: rapid.IntRange(0, p.Nodes-1).Draw(t, "to"),
			Out: true, In: rapid.Bool().Draw(t, "in"), MinLength: shortest,
			MaxLength: shortest + rapid.IntRange(0, 2).Draw(t, "more"), Absent: rapid.IntRange(0, 3).Draw(t, "absent") == 0,
		}
		if e.In && rapid.Bool().Draw(t, "only in") {
			e.Out = false
		}
		if rapid.Bool().Draw(t, "one relation") {
			e.RelationTypes = []string{"a"}
		}
		p.Edges = append(p.Edges, e)
	}
	return p
}

// key returns a match as a text.
func key(m pattern.Match) string {
	var text []byte
	for _, n := range m.Nodes {
		text = append(text, n[:]...)
	}
	for _, trail := range m.Trails {
		text = append(text, '|')
		for _, e := range trail {
			text = append(text, e[:]...)
		}
	}
	return string(text)
}

func keys(matches []pattern.Match) []string {
	list := make([]string, len(matches))
	for i := range matches {
		list[i] = key(matches[i])
	}
	return list
}

func TestAllMatchesAreFound(t *testing.T) {
	found := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t)
		if !p.Connected() {
			t.Skip("the pattern is not connected")
		}
		m := drawGraph(t, p.Nodes)
		result, err := pattern.Find(t.Context(), m, p, pattern.Limits{Candidates: 1e6, Edges: 1e6, Matches: 1e6, Work: 1e9})
		require.NoError(t, err)
		require.False(t, result.Truncated)
		want := keys(m.matches(p))
		slices.Sort(want)
		require.Equal(t, want, append([]string{}, sorted(t, result.Matches)...))
		found[len(want) > 0]++
	})
	require.Greater(t, found[true], 10)
	require.Greater(t, found[false], 5)
}

// sorted returns the keys of matches, sorted, and requires that the matches are sorted.
func sorted(t *rapid.T, matches []pattern.Match) []string {
	require.True(t, slices.IsSortedFunc(matches, func(a, b pattern.Match) int {
		return slices.CompareFunc(a.Nodes, b.Nodes, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	}))
	list := keys(matches)
	slices.Sort(list)
	return list
}

func TestASearchWithinLimitsIsExactOrReportsThatItIsTruncated(t *testing.T) {
	truncated := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t)
		if !p.Connected() {
			t.Skip("the pattern is not connected")
		}
		m := drawGraph(t, p.Nodes)
		limit := func(name string) int { return rapid.IntRange(1, 12).Draw(t, name) }
		result, err := pattern.Find(t.Context(), m, p, pattern.Limits{
			Candidates: limit("candidates"), Edges: limit("edges"), Matches: limit("matches"), Work: 3 * limit("work"),
		})
		require.NoError(t, err)
		want := keys(m.matches(p))
		found := sorted(t, result.Matches)
		require.Len(t, slices.Compact(slices.Clone(found)), len(found), "a match is returned once")
		if !result.Truncated {
			require.ElementsMatch(t, want, found)
			return
		}
		truncated++
		require.Subset(t, want, found)
	})
	require.Greater(t, truncated, 10)
}

func TestPatternsAreConnected(t *testing.T) {
	link := func(from, to int) pattern.Edge { return pattern.Edge{From: from, To: to} }
	absent := func(from, to int) pattern.Edge { return pattern.Edge{From: from, To: to, Absent: true} }
	for name, c := range map[string]struct {
		nodes     int
		edges     []pattern.Edge
		connected bool
	}{
		"a node":                         {1, nil, true},
		"two nodes":                      {2, nil, false},
		"a chain":                        {3, []pattern.Edge{link(1, 0), link(1, 2)}, true},
		"two parts":                      {4, []pattern.Edge{link(0, 1), link(2, 3)}, false},
		"an absent edge":                 {2, []pattern.Edge{absent(1, 0)}, true},
		"a chain of absent edges":        {3, []pattern.Edge{absent(0, 1), absent(1, 2)}, false},
		"an absent edge at a chain":      {3, []pattern.Edge{link(0, 1), absent(2, 1)}, true},
		"an absent edge as the only way": {4, []pattern.Edge{link(0, 1), absent(1, 2), link(2, 3)}, false},
	} {
		p := pattern.Pattern{Nodes: c.nodes, Edges: c.edges}
		require.Equal(t, c.connected, p.Connected(), name)
	}
}

func TestMatchesAreGrouped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(rapid.IntRange(0, 2), 3, 3)
		var matches []pattern.Match
		counts := map[[2]uuid.UUID]int{}
		for range rapid.IntRange(0, 30).Draw(t, "matches") {
			drawn := nodes.Draw(t, "nodes")
			m := pattern.Match{Nodes: []uuid.UUID{id('n', drawn[0]), id('n', drawn[1]), id('n', drawn[2])}}
			matches = append(matches, m)
			counts[[2]uuid.UUID{m.Nodes[2], m.Nodes[0]}]++
		}
		groups := pattern.GroupBy(matches, []int{2, 0})
		require.Len(t, groups, len(counts))
		for i, g := range groups {
			require.Equal(t, counts[[2]uuid.UUID(g.Nodes)], g.Count)
			if i > 0 && groups[i-1].Count == g.Count {
				require.Negative(t, bytes.Compare(groups[i-1].Nodes[0][:], g.Nodes[0][:])*2+
					bytes.Compare(groups[i-1].Nodes[1][:], g.Nodes[1][:]))
			}
			require.True(t, i == 0 || groups[i-1].Count >= g.Count)
		}
	})
}
