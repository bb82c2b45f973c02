package hostgraph

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const owner = "test demo"

type keyed struct {
	key  string
	node client.NewNode
}

func device(key string, properties map[string]any) keyed {
	description, encoded := "about "+key, client.Properties{}
	for name, value := range properties {
		encoded[name] = encode(value)
	}
	return keyed{key, client.NewNode{
		Name: "Device " + key, EntityType: "object", Description: &description, Properties: encoded,
	}}
}

func newState(edges []Edge, nodes ...keyed) State {
	s := State{map[string]client.NewNode{}, map[Edge]bool{}}
	for _, n := range nodes {
		s.Nodes[n.key] = n.node
	}
	for _, e := range edges {
		s.Edges[e] = true
	}
	return s
}

// textOf returns a string in JSON, "" for any other value.
func textOf(value jsontext.Value) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

// describeGraph returns the owner's part of a graph in the format of describeState.
func describeGraph(p *fakeServer) []string {
	keys := map[uuid.UUID]string{}
	lines := []string{}
	for id, n := range p.nodes {
		if textOf(n.Properties[managedBy]) != owner {
			continue
		}
		keys[id] = textOf(n.Properties[keyName])
		description := ""
		if n.Description != nil {
			description = *n.Description
		}
		properties := []string{}
		for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
			if name != managedBy && name != keyName && name != "yours" {
				properties = append(properties, name+"="+string(n.Properties[name]))
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %s (%s) %s %v", keys[id], n.Name, n.EntityType, description, properties))
	}
	for _, e := range p.edges {
		if textOf(e.Properties[managedBy]) == owner {
			lines = append(lines, fmt.Sprintf("%s -%s-> %s", keys[e.SourceID], e.RelationType, keys[e.TargetID]))
		}
	}
	slices.Sort(lines)
	return lines
}

func describeState(p State) []string {
	lines := []string{}
	for key, n := range p.Nodes {
		properties := []string{}
		for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
			if value := string(n.Properties[name]); value != "null" {
				properties = append(properties, name+"="+value)
			}
		}
		slices.Sort(properties)
		lines = append(lines, fmt.Sprintf("%s: %s (%s) %s %v", key, n.Name, n.EntityType, *n.Description, properties))
	}
	for e := range p.Edges {
		lines = append(lines, fmt.Sprintf("%s -%s-> %s", e.Source, e.Relation, e.Target))
	}
	slices.Sort(lines)
	return lines
}

func sync(t require.TestingT, m *Syncer, p State) Report {
	r, err := m.Sync(context.Background(), p)
	require.NoError(t, err)
	return r
}

func TestAStateIsWrittenOnceAndThenOnlyItsChanges(t *testing.T) {
	p := newFakeServer()
	m := &Syncer{server: p, owner: owner}
	first := newState(
		[]Edge{{"b", "a", "part_of"}}, device("a", map[string]any{"size": 1, "tags": []string{"x", "y"}}), device("b", nil),
	)
	r := sync(t, m, first)
	require.Equal(t, Report{Nodes: 2, Edges: 1, Applied: 3}, r)
	require.Equal(t, describeState(first), describeGraph(p))
	require.Equal(t, 1, p.batches, "one change for all")

	require.Zero(t, sync(t, m, first).Applied)
	require.Equal(t, 1, p.batches, "nothing changed: nothing is sent")

	second := newState(nil, device("a", map[string]any{"size": 2, "tags": nil}))
	require.Equal(t, Report{Nodes: 1, Applied: 2}, sync(t, m, second))
	require.Equal(t, describeState(second), describeGraph(p))
	require.Zero(t, sync(t, m, second).Applied, "what is to be absent is absent")
}

func TestAnotherStartFindsWhatIsThereAndMakesNoSecondCopy(t *testing.T) {
	p := newFakeServer()
	state := newState([]Edge{{"b", "a", "part_of"}}, device("a", map[string]any{"n": 1.5, "flag": true}), device("b", nil))
	sync(t, &Syncer{server: p, owner: owner}, state)
	ids := slices.Sorted(maps.Keys(idTexts(p)))
	m := &Syncer{server: p, owner: owner}
	require.Zero(t, sync(t, m, state).Applied)
	require.Equal(t, ids, slices.Sorted(maps.Keys(idTexts(p))))
	require.NotEmpty(t, m.ID("a"))

	sync(t, &Syncer{server: p, owner: "another"}, state)
	require.Len(t, p.nodes, 4, "another owner has a part of its own")
	require.Zero(t, sync(t, &Syncer{server: p, owner: owner}, state).Applied)
}

func idTexts(p *fakeServer) map[string]bool {
	texts := map[string]bool{}
	for id := range p.nodes {
		texts[id.String()] = true
	}
	return texts
}

func TestWhatComesBackGetsAnotherID(t *testing.T) {
	p := newFakeServer()
	m := &Syncer{server: p, owner: owner}
	both := newState([]Edge{{"b", "a", "part_of"}}, device("a", nil), device("b", nil))
	sync(t, m, both)
	before := m.ID("b")
	sync(t, m, newState(nil, device("a", nil)))
	sync(t, m, both)
	require.Equal(t, describeState(both), describeGraph(p))
	after := m.ID("b")
	require.NotEqual(t, before, after)

	sync(t, m, newState(nil, device("a", nil), device("b", nil))) // the edge alone
	require.Empty(t, p.edges)
	sync(t, m, both)
	require.Equal(t, describeState(both), describeGraph(p))
}

func TestWhatOthersDidIsPutRightAndTheirOwnIsLeftAlone(t *testing.T) {
	p := newFakeServer()
	m := &Syncer{server: p, owner: owner}
	state := newState(
		[]Edge{{"b", "a", "part_of"}}, device("a", map[string]any{"size": 1}), device("b", nil), device("c", nil),
	)
	sync(t, m, state)
	a := uuid.MustParse(m.ID("a"))
	b := uuid.MustParse(m.ID("b"))
	name := "renamed"
	require.NoError(t, p.updateNode(client.NodePatch{ID: a, Name: &name, Properties: client.Properties{
		"size": encode("big"), "yours": encode(1),
	}}))
	require.NoError(t, p.deleteNode(b))
	theirs := uuid.New()
	require.NoError(t, p.createNode(client.NewNode{
		ID: theirs, Name: "their node", Properties: client.Properties{keyName: encode("c")},
	}))
	require.NoError(t, p.createEdge(client.NewEdge{ID: uuid.New(), SourceID: a, TargetID: theirs, RelationType: "likes"}))

	require.Zero(t, sync(t, m, state).Applied, "the graph is not read again before readInterval")
	m.readAt = m.readAt.Add(-2 * readInterval)
	sync(t, m, state)
	require.Equal(t, describeState(state), describeGraph(p))
	require.Contains(t, p.nodes, theirs)
	require.Equal(t, "1", string(p.nodes[a].Properties["yours"]))
	require.Len(t, p.edges, 2)
}

func TestANodeThatSomebodyDeletedIsMadeAgainWhenItChanges(t *testing.T) {
	p := newFakeServer()
	m := &Syncer{server: p, owner: owner}
	sync(t, m, newState(nil, device("a", nil), device("b", nil)))
	a := uuid.MustParse(m.ID("a"))
	require.NoError(t, p.deleteNode(a))
	state := newState(nil, device("a", map[string]any{"size": 2}), device("b", map[string]any{"size": 3}))
	r, err := m.Sync(t.Context(), state)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	require.Equal(t, 1, r.Applied, "the other is updated")
	sync(t, m, state)
	require.Equal(t, describeState(state), describeGraph(p))
}

func TestTwoNodesWithOneKeyBecomeOne(t *testing.T) {
	p := newFakeServer()
	state := newState([]Edge{{"b", "a", "part_of"}}, device("a", nil), device("b", nil))
	sync(t, &Syncer{server: p, owner: owner}, state)
	for range 2 {
		require.NoError(t, p.createNode(client.NewNode{ID: uuid.New(), Name: "copy", Properties: client.Properties{
			managedBy: encode(owner), keyName: encode("a"),
		}}))
	}
	sync(t, &Syncer{server: p, owner: owner}, state)
	require.Equal(t, describeState(state), describeGraph(p))
}

func TestALargeStateIsSentInSeveralBatches(t *testing.T) {
	p := newFakeServer()
	m := &Syncer{server: p, owner: owner}
	var nodes []keyed
	for i := range client.MaxBatch + 1 {
		nodes = append(nodes, device(fmt.Sprint(i), nil))
	}
	sync(t, m, newState(nil, nodes...))
	require.Equal(t, 2, p.batches)
	require.Len(t, p.nodes, client.MaxBatch+1)
}

func TestWhatIsRefusedIsReportedAndTriedAgain(t *testing.T) {
	p := newFakeServer()
	m := &Syncer{server: p, owner: owner}
	state := newState(nil, device("a", nil), device("b", nil))
	p.refusedName = "Device b"
	for range 3 {
		_, err := m.Sync(t.Context(), state)
		require.ErrorContains(t, err, "writing the graph: never")
	}
	require.Len(t, p.nodes, 1, "what was accepted is not made again")
	p.refusedName = ""
	sync(t, m, state)
	require.Equal(t, describeState(state), describeGraph(p))
}

func TestAfterAnUnknownOutcomeTheGraphIsReadAgain(t *testing.T) {
	p := newFakeServer()
	m := &Syncer{server: p, owner: owner}
	state := newState(nil, device("a", nil))
	p.fail = fault.New(fault.Timeout, "too slow")
	_, err := m.Sync(t.Context(), state)
	require.Equal(t, fault.Timeout, fault.KindOf(err))
	require.Equal(t, 1, p.batches, "not tried command by command")
	reads := p.reads
	sync(t, m, state)
	require.Greater(t, p.reads, reads)
	require.Equal(t, describeState(state), describeGraph(p))
}

// TestAnySequenceOfStatesEndsInTheLast syncs random states one after the other. In between,
// others delete nodes and syncers restart.
func TestAnySequenceOfStatesEndsInTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newFakeServer()
		m := &Syncer{server: p, owner: owner}
		keys := strings.Split("abcdefgh", "")
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			var nodes []keyed
			for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 8, rapid.ID).Draw(t, "keys") {
				nodes = append(nodes, device(key, map[string]any{"n": rapid.IntRange(0, 2).Draw(t, "n")}))
			}
			var edges []Edge
			for range rapid.IntRange(0, 6).Draw(t, "edges") {
				if len(nodes) == 0 {
					break
				}
				end := func() string { return rapid.SampledFrom(nodes).Draw(t, "end").key }
				edges = append(edges, Edge{end(), end(), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "relation")})
			}
			state := newState(edges, nodes...)
			if ids := slices.SortedFunc(maps.Keys(p.nodes), func(a, b uuid.UUID) int {
				return strings.Compare(a.String(), b.String())
			}); len(ids) > 0 && rapid.Bool().Draw(t, "vandal") {
				require.NoError(t, p.deleteNode(rapid.SampledFrom(ids).Draw(t, "victim")))
				m.readAt = time.Time{}
			}
			if rapid.Bool().Draw(t, "restart") {
				m = &Syncer{server: p, owner: owner}
			}
			quiet := false
			for range 5 { // a used id requires another round, for the node and then for its edges
				if sync(t, m, state).Applied == 0 {
					quiet = true
					break
				}
			}
			require.True(t, quiet, "it converges")
			require.Equal(t, describeState(state), describeGraph(p))
		}
	})
}
