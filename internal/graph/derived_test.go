package graph_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

// linkedGraph is a graph with commands of a user and of the linker.
type linkedGraph struct {
	t      *testing.T
	memory *graphtest.Memory
	user   uuid.UUID
}

func newLinkedGraph(t *testing.T) *linkedGraph {
	t.Helper()
	return &linkedGraph{t: t, memory: graphtest.NewMemory(), user: uuid.New()}
}

func (g *linkedGraph) try(actor uuid.UUID, p graph.Payload) error {
	_, err := g.memory.Apply(graph.Command{
		ID: uuid.New(), Origin: graph.Origin{Actor: actor, Scopes: []string{"admin"}}, Action: graph.Action{Payload: p},
	})
	return err
}

func (g *linkedGraph) do(p graph.Payload) {
	g.t.Helper()
	require.NoError(g.t, g.try(g.user, p))
}

func (g *linkedGraph) newNode() uuid.UUID {
	g.t.Helper()
	id := uuid.New()
	g.do(graph.CreateNode{ID: id, Name: "n", EntityType: graph.Object})
	return id
}

// link creates a link as the linker.
func (g *linkedGraph) link(source, target uuid.UUID) uuid.UUID {
	g.t.Helper()
	id := uuid.New()
	require.NoError(g.t, g.try(graph.LinkerActor, graph.CreateEdge{
		ID: id, SourceID: source, TargetID: target, RelationType: "mentions",
		Properties: jsontext.Value(`{"link":{"kind":"name"}}`),
	}))
	return id
}

func undo() graph.Payload { return graph.Undo{} }
func redo() graph.Payload { return graph.Redo{} }

func TestALinkBlocksNoUndoOfTheCreationOfItsNode(t *testing.T) {
	t.Parallel()
	g := newLinkedGraph(t)
	a := g.newNode()
	b := g.newNode()
	first, second := g.link(a, b), g.link(b, a)
	g.do(undo())
	require.False(t, g.memory.IsLive(b))
	require.False(t, g.memory.IsLive(first))
	require.False(t, g.memory.IsLive(second))
	g.do(redo())
	require.True(t, g.memory.IsLive(b))
	require.False(t, g.memory.IsLive(first), "the linker makes it again")
	g.link(a, b)
	g.do(undo())
	require.False(t, g.memory.IsLive(b))
	require.Equal(t, g.memory.Edges, graphtest.Fold(g.memory.Journal).Edges)
	require.Equal(t, g.memory.Nodes, graphtest.Fold(g.memory.Journal).Nodes)
}

func TestAnEdgeOfSomebodyElseStillBlocksTheUndo(t *testing.T) {
	t.Parallel()
	g := newLinkedGraph(t)
	a := g.newNode()
	b := g.newNode()
	g.link(a, b)
	other := uuid.New()
	require.NoError(t, g.try(other, graph.CreateEdge{ID: uuid.New(), SourceID: a, TargetID: b, RelationType: "feeds"}))
	require.ErrorContains(t, g.try(g.user, graph.Undo{}), "cannot be undone")
	require.True(t, g.memory.IsLive(b))
}

func TestLinksAreInNoUndoStack(t *testing.T) {
	t.Parallel()
	g := newLinkedGraph(t)
	a := g.newNode()
	b := g.newNode()
	g.do(graph.Undo{Pick: graph.Pick{Workspace: true}})
	require.False(t, g.memory.IsLive(b))
	link := g.link(a, a)
	g.do(graph.Redo{Pick: graph.Pick{Workspace: true}}) // a link does not clear it
	require.True(t, g.memory.IsLive(b))
	g.do(graph.Undo{Pick: graph.Pick{Workspace: true}})
	require.False(t, g.memory.IsLive(b), "the user's command, not the linker's")
	require.True(t, g.memory.IsLive(link))
	require.Error(t, g.try(graph.LinkerActor, graph.Undo{}))
}

func TestADeletionTakesLinksAlongAndItsRedoIgnoresThem(t *testing.T) {
	t.Parallel()
	g := newLinkedGraph(t)
	a := g.newNode()
	b := g.newNode()
	c := g.newNode()
	first := g.link(a, b)
	g.do(graph.DeleteNode{ID: b})
	require.False(t, g.memory.IsLive(first))
	g.do(undo())
	require.True(t, g.memory.IsLive(first))

	added := g.link(c, b)
	g.do(redo())
	require.False(t, g.memory.IsLive(b))
	require.False(t, g.memory.IsLive(added))
	g.do(undo())
	require.True(t, g.memory.IsLive(added))
	require.NoError(t, g.try(graph.LinkerActor, graph.DeleteEdge{ID: first}))
	g.do(redo())
	require.False(t, g.memory.IsLive(b))
	require.Equal(t, g.memory.Edges, graphtest.Fold(g.memory.Journal).Edges)
}

func TestALinkCanBeDeletedLikeAnyEdge(t *testing.T) {
	t.Parallel()
	g := newLinkedGraph(t)
	a := g.newNode()
	link := g.link(a, a)
	g.do(graph.DeleteEdge{ID: link})
	require.False(t, g.memory.IsLive(link))
	g.do(undo())
	require.True(t, g.memory.IsLive(link))
}
