package graphstore_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
	"github.com/livegraph/livegraph/internal/platform/fault"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// graphHistory draws random commands of several actors, and decides each on the database and
// on the model in memory.
type graphHistory struct {
	t         *rapid.T
	model     *graphtest.Memory
	commands  []uuid.UUID
	workspace uuid.UUID
}

// roll draws a number below n, all equally likely.
func (h *graphHistory) roll(n int, label string) int {
	drawn := rapid.Uint64().Draw(h.t, label)
	drawn = (drawn ^ drawn>>30) * 0xbf58476d1ce4e5b9
	drawn = (drawn ^ drawn>>27) * 0x94d049bb133111eb
	return int((drawn ^ drawn>>31) % uint64(n))
}

func graphID(kind, n int) uuid.UUID { return uuid.UUID{0: byte(kind), 15: byte(n)} }

const graphActors = 3

// pick draws a used id, usually of a live resource, or the next unused one.
func (h *graphHistory) pick(kind, used int) uuid.UUID {
	id := graphID(kind, h.roll(used+1, "id"))
	for range 3 {
		if h.model.IsLive(id) {
			break
		}
		id = graphID(kind, h.roll(used+1, "id"))
	}
	return id
}

func (h *graphHistory) node() uuid.UUID { return h.pick(1, len(h.model.Nodes)) }
func (h *graphHistory) edge() uuid.UUID { return h.pick(2, len(h.model.Edges)) }

var graphPatches = []string{
	`{}`, `{"a":1}`, `{"a":2.5e3}`, `{"a":null}`, `{"b":{"d":1,"cc":2}}`, `{"b":{"d":null,"x":[1,"é\u0001"]}}`,
	`{"":"\"","b":null}`, `{"k":"é\\\"/"}`,
}

// action draws an action. nodes and edges count the new nodes and edges of its batch.
func (h *graphHistory) action(nodes, edges *int) graph.Payload {
	patch := []byte(graphPatches[h.roll(len(graphPatches), "patch")])
	name := []string{"x", "y", "ö"}[h.roll(3, "name")]
	kind := []graph.EntityType{graph.Concept, graph.Object}[h.roll(2, "type")]
	action := h.roll(18, "action")
	if len(h.model.Nodes) < 4 {
		action = 0 // few nodes have many edges
	}
	switch action {
	case 0:
		id := graphID(1, len(h.model.Nodes)+*nodes)
		*nodes++
		return graph.CreateNode{ID: id, Name: name, EntityType: kind, Description: &name, Properties: patch}
	case 2:
		return graph.CreateNode{ID: h.node(), Name: name, EntityType: kind}
	case 3:
		return graph.UpdateNode{ID: h.node(), Name: &name, EntityType: &kind, Properties: patch}
	case 4:
		return graph.UpdateNode{ID: h.node(), ClearDescription: true}
	case 1, 5, 6:
		return graph.DeleteNode{ID: h.node()}
	case 7, 8, 9, 10:
		id := graphID(2, len(h.model.Edges)+*edges)
		*edges++
		return graph.CreateEdge{ID: id, SourceID: h.node(), TargetID: h.node(), RelationType: name, Properties: patch}
	case 11:
		return graph.UpdateEdge{ID: h.edge(), RelationType: &name, Properties: patch}
	case 12, 13, 14:
		id := graphID(1, len(h.model.Nodes)+*nodes)
		*nodes++
		return graph.UpsertNode{ID: id, Key: h.key(), Description: &name}
	case 15, 16:
		id := graphID(2, len(h.model.Edges)+*edges)
		*edges++
		return graph.UpsertEdge{ID: id, Source: h.ref(), Target: h.ref(), RelationType: name, Properties: patch}
	}
	return graph.DeleteEdge{ID: h.edge()}
}

// graphKeys are keys that other commands write, too.
var graphKeys = []graph.NodeKey{
	{EntityType: graph.Concept, Property: "a", Value: "1"}, {EntityType: graph.Object, Property: "a", Value: "2500"},
	{EntityType: graph.Concept, Property: "k", Value: `"é\\\"/"`},
}

func (h *graphHistory) key() graph.NodeKey { return graphKeys[h.roll(len(graphKeys), "key")] }

func (h *graphHistory) ref() graph.NodeRef {
	if h.roll(3, "by key") == 0 {
		key := h.key()
		return graph.NodeRef{Key: &key}
	}
	return graph.NodeRef{ID: h.node()}
}

// command draws a command, an UNDO or a REDO, or a batch.
func (h *graphHistory) command() (graph.Origin, uuid.UUID, []graph.Action, bool) {
	origin := graph.Origin{Actor: graphID(3, h.roll(graphActors, "actor")), Scopes: []string{"admin"}, RequestID: "req_1"}
	id := uuid.UUID{0: 4, 14: byte(len(h.commands) >> 8), 15: byte(len(h.commands))}
	h.commands = append(h.commands, id)
	var nodes, edges int
	switch h.roll(8, "what") {
	case 0, 1, 2:
		pick := graph.Pick{}
		switch h.roll(4, "pick") {
		case 0:
			pick.Workspace = true
		case 1:
			pick.CommandID = h.commands[h.roll(len(h.commands), "target")]
		}
		if h.roll(3, "redo") == 0 {
			return origin, id, []graph.Action{{Payload: graph.Redo{Pick: pick}}}, false
		}
		return origin, id, []graph.Action{{Payload: graph.Undo{Pick: pick}}}, false
	case 3:
		var actions []graph.Action
		for range 1 + h.roll(5, "size") {
			actions = append(actions, graph.Action{Payload: h.action(&nodes, &edges)})
		}
		return origin, id, actions, true
	}
	return origin, id, []graph.Action{{Payload: h.action(&nodes, &edges)}}, false
}

// decide applies a command to a state at the model's time.
func (h *graphHistory) decide(
	state graph.State, next graph.Sequence, o graph.Origin, id uuid.UUID, actions []graph.Action, batch bool,
) (graph.Outcome, error) {
	at := h.model.Now()
	if batch {
		return graph.ApplyBatch(state, graph.Batch{ID: id, Origin: o, Actions: actions}, next, at)
	}
	return graph.Apply(state, graph.Command{ID: id, Origin: o, Action: actions[0]}, next, at)
}

func graphReason(err error) string {
	var public *fault.Error
	if errors.As(err, &public) {
		return fmt.Sprint(public.Kind, public.Message, public.Details)
	}
	if err != nil {
		return "not a fault: " + err.Error()
	}
	return ""
}

// step decides one command on both and compares.
func (h *graphHistory) step(state *graphstore.State) {
	o, id, actions, batch := h.command()
	want, refused := h.decide(h.model, h.model.Next(), o, id, actions, batch)
	got, err := h.decide(state, state.Next(), o, id, actions, batch)
	require.Equal(h.t, graphReason(refused), graphReason(err))
	require.Equal(h.t, want, got)
	if err != nil || got.Change == nil {
		return
	}
	h.model.Record(want.Change)
	require.NoError(h.t, state.Record(got.Change))
	for n := range graphActors {
		undo, redo, err := state.Depths(graphID(3, n))
		require.NoError(h.t, err)
		wantUndo, wantRedo, _ := h.model.Depths(graphID(3, n))
		require.Equal(h.t, []int{wantUndo, wantRedo}, []int{undo, redo})
	}
}

func (h *graphHistory) needs(remembered *graphstore.RememberedStacks) graphstore.Needs {
	needs := graphstore.Needs{Workspace: h.workspace, Stacks: remembered}
	for range h.roll(3, "needs") { // what is not listed is read on demand
		needs.Nodes, needs.Edges = append(needs.Nodes, h.node()), append(needs.Edges, h.edge())
		needs.Adjacency = append(needs.Adjacency, h.node())
		needs.Keys = append(needs.Keys, h.key())
		needs.Pairs = append(needs.Pairs, graphstore.Pair{Source: h.ref(), Target: h.ref(), RelationType: "x"})
		needs.Actors = append(needs.Actors, graphID(3, h.roll(graphActors, "actor")), uuid.Nil)
		needs.Reversals = map[uuid.UUID]graphstore.Reversals{
			needs.Actors[0]: {Undos: h.roll(4, "undos"), Redos: h.roll(4, "redos")}, uuid.Nil: {Undos: 1, Redos: 1},
		}
	}
	unique := func(ids []uuid.UUID) []uuid.UUID {
		seen := map[uuid.UUID]struct{}{}
		for _, id := range ids {
			seen[id] = struct{}{}
		}
		return slices.Collect(maps.Keys(seen))
	}
	needs.Nodes, needs.Edges, needs.Adjacency, needs.Actors = unique(needs.Nodes), unique(needs.Edges),
		unique(needs.Adjacency), unique(needs.Actors)
	return needs
}

func TestCommandsAreDecidedOnTheDatabaseAsInMemory(t *testing.T) {
	w := newGraphFixture(t)
	w.db.SetListLimits(0, 100, 64)
	start := graphtest.NewMemory().Now()
	w.db.SetTotalBuckets([]time.Time{start.Add(2 * time.Second), start.Add(5 * time.Second), start.Add(9 * time.Second)})
	rapid.Check(t, func(t *rapid.T) {
		h := &graphHistory{t: t, model: graphtest.NewMemory(), workspace: w.workspace(t)}
		edges := []int{-1, -1, 2, 64}[h.roll(4, "edges in memory")] // -1: none, all edges stay in the database
		var remembered *graphstore.RememberedStacks
		for range 12 - min(11, rapid.IntRange(0, 24).Draw(t, "fewer")) {
			tx := w.begin(t, edges, h.needs(remembered))
			t.Cleanup(tx.Rollback)
			for range 1 + h.roll(10, "commands") {
				h.step(tx.State(h.workspace))
				if h.roll(4, "ahead") == 0 {
					require.NoError(t, tx.WriteAhead())
				}
			}
			w.commit(t, tx)
			if remembered = nil; h.roll(2, "remember") == 0 {
				remembered, _ = tx.State(h.workspace).Stacks()
			}
			w.requireMatches(t, h.workspace, h.model)
			w.requireListTotals(t, h.workspace)
		}
		folded := graphtest.Fold(w.read(t, h.workspace).Journal)
		require.Equal(t, h.model.Nodes, folded.Nodes)
		require.Equal(t, h.model.Edges, folded.Edges)
	})
}
