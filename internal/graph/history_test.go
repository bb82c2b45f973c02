package graph_test

import (
	"errors"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// history applies the same random commands of several actors to a State and to the model,
// and compares them after each command.
type history struct {
	t        *rapid.T
	state    *memory
	model    *model
	ids      map[uuid.UUID]int // of the commands that changed something; the value is the index in the model
	commands int
}

const actors = 3

func newHistory(t *rapid.T) *history {
	h := &history{t: t, state: graphtest.NewMemory(), model: &model{}, ids: map[uuid.UUID]int{}}
	for i := range 5 { // initial resources
		h.run(i%actors, false, graph.Action{Payload: graph.CreateNode{ID: nodeID(i), Name: "n", EntityType: graph.Actor}})
	}
	for i := range 8 {
		h.run(i%actors, false, graph.Action{Payload: graph.CreateEdge{
			ID: edgeID(i), SourceID: nodeID(i % 5), TargetID: nodeID(i * i % 5), RelationType: "r"}})
	}
	return h
}

func (h *history) origin(actor int) graph.Origin {
	return graph.Origin{Actor: actorID(actor), Scopes: []string{"write:nodes", "write:edges"}, RequestID: "req_1"}
}

// roll draws a number below n from a uniform distribution. The generators of rapid prefer
// small numbers, which would select the same few commands most of the time.
func (h *history) roll(n int, label string) int {
	drawn := rapid.Uint64().Draw(h.t, label)
	drawn = (drawn ^ drawn>>30) * 0xbf58476d1ce4e5b9
	drawn = (drawn ^ drawn>>27) * 0x94d049bb133111eb
	return int((drawn ^ drawn>>31) % uint64(n))
}

// reason returns an error as the model names it.
func reason(err error) string {
	var public *fault.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &public):
		return err.Error()
	case public.Details["reason"] != nil:
		return public.Details["reason"].(string)
	case public.Details["expectedVersion"] != nil:
		return "version"
	case public.Kind == fault.NotFound:
		return "not_found"
	}
	return public.Message
}

// pickID draws an id that was used, or the next unused one.
func (h *history) pickID(idOf func(int) uuid.UUID, used int, label string) uuid.UUID {
	id := idOf(h.roll(used+1, label))
	for range 3 { // prefer a live one
		if h.state.IsLive(id) {
			break
		}
		id = idOf(h.roll(used+1, label))
	}
	return id
}

func (h *history) node() uuid.UUID { return h.pickID(nodeID, len(h.state.Nodes), "node") }
func (h *history) edge() uuid.UUID { return h.pickID(edgeID, len(h.state.Edges), "edge") }

var (
	names   = []string{"x", "y", "z"}
	patches = []string{
		`{}`, `{"a":1}`, `{"a":2}`, `{"a":null}`, `{"a":{"b":1}}`, `{"a":{"b":null,"c":[1]}}`, `{"b":"x"}`,
		`{"b":null,"a":3}`,
	}
)

// draw returns a random action. usedNodes and usedEdges are the numbers of ids that the
// batch has already used.
func (h *history) draw(usedNodes, usedEdges int) graph.Action {
	patch := []byte(patches[h.roll(len(patches), "patch")])
	name := names[h.roll(len(names), "name")]
	node, edge := h.node(), h.edge()
	switch h.roll(16, "action") {
	case 12, 13:
		return graph.Action{Payload: h.drawUpsertNode(nodeID(len(h.state.Nodes)+usedNodes), name)}
	case 14, 15:
		return graph.Action{Payload: graph.UpsertEdge{
			ID: edgeID(len(h.state.Edges) + usedEdges), Source: h.drawRef(), Target: h.drawRef(), RelationType: name,
			Properties: patch}}
	case 0, 1:
		return graph.Action{Payload: graph.CreateNode{
			ID: nodeID(len(h.state.Nodes) + usedNodes), Name: name, EntityType: graph.Concept, Description: &name,
			Properties: patch}}
	case 2:
		return graph.Action{Payload: graph.CreateNode{ID: node, Name: name, EntityType: graph.Object}}
	case 3, 4:
		return graph.Action{Payload: graph.UpdateNode{ID: node, Name: &name, Properties: patch}}
	case 5:
		return graph.Action{Payload: graph.UpdateNode{ID: node, ClearDescription: true}}
	case 6:
		return graph.Action{Payload: graph.DeleteNode{ID: node}}
	case 7, 8, 9:
		return graph.Action{Payload: graph.CreateEdge{
			ID: edgeID(len(h.state.Edges) + usedEdges), SourceID: node, TargetID: h.node(), RelationType: name,
			Properties: patch}}
	case 10:
		return graph.Action{Payload: graph.UpdateEdge{ID: edge, RelationType: &name, Properties: patch}}
	}
	return graph.Action{Payload: graph.DeleteEdge{ID: edge}}
}

// snapshotWithUsedIDs returns the current snapshot, including the ids of resources whose
// creation was undone: they do not exist, but cannot be used again.
func (h *history) snapshotWithUsedIDs() snapshot {
	w := h.model.current()
	for _, entry := range h.model.entries {
		for _, e := range entry.effects {
			if _, ok := w[e.id]; !ok {
				w[e.id] = resource{fields: map[string]any{}, ends: e.ends}
			}
		}
	}
	return w
}

// command runs one new command, or an atomic batch, on the state and the model.
func (h *history) command() {
	actor, batch := h.roll(actors, "actor"), h.roll(4, "batch") == 0
	if !batch {
		h.run(actor, false, h.draw(0, 0))
		return
	}
	var actions []graph.Action
	w := h.snapshotWithUsedIDs()
	nodes, edges := 0, 0
	for range 1 + h.roll(6, "size") {
		a := h.draw(nodes, edges)
		next, failed := applyNaive(w, a, map[uuid.UUID]map[uuid.UUID]struct{}{})
		if failed != "" && h.roll(8, "keep") > 0 {
			continue // most batches succeed
		}
		actions = append(actions, a)
		if failed != "" {
			break
		}
		for id, r := range next {
			if _, known := w[id]; !known && r.ends == nil {
				nodes++
			} else if !known {
				edges++
			}
		}
		w = next
	}
	if len(actions) > 0 {
		h.run(actor, true, actions...)
	}
}

// run applies a command, or a batch, to the state and the model, and compares the results.
func (h *history) run(actor int, batch bool, actions ...graph.Action) {
	h.commands++
	id := commandID(h.commands)
	cascades := map[uuid.UUID]map[uuid.UUID]struct{}{}
	copies, want := []snapshot{h.snapshotWithUsedIDs()}, ""
	for _, a := range actions {
		next, failed := applyNaive(copies[len(copies)-1], a, cascades)
		if want = failed; failed != "" {
			break
		}
		copies = append(copies, next)
	}
	var err error
	var outcome graph.Outcome
	if batch {
		outcome, err = h.state.ApplyBatch(graph.Batch{ID: id, Origin: h.origin(actor), Actions: actions})
	} else {
		outcome, err = h.state.Apply(graph.Command{ID: id, Origin: h.origin(actor), Action: actions[0]})
	}
	require.Equal(h.t, want, reason(err))
	if err != nil {
		return
	}
	h.checkEffects(actions, copies, outcome.Results)
	entries := len(h.model.entries)
	h.model.record(actor, copies, cascades)
	require.Equal(h.t, len(h.model.entries) > entries, outcome.Change != nil, "a change of nothing is no change")
	if outcome.Change != nil {
		h.ids[id] = entries
	}
}

// reverse runs an UNDO or a REDO on the state and the model.
func (h *history) reverse(undo bool) {
	actor := h.roll(actors, "actor")
	h.commands++
	var p graph.Pick
	owner := actor
	var entry *modelEntry
	switch h.roll(5, "pick") {
	case 0:
		p.Workspace, owner = true, -1
		fallthrough
	case 1, 2:
		entry = h.model.toRedo(owner)
		if undo {
			entry = h.model.toUndo(owner)
		}
	default:
		entry = h.pickNamed(&p, undo)
	}
	c := graph.Command{ID: commandID(h.commands), Origin: h.origin(actor)}
	want := "undo_blocked"
	if c.Payload = (graph.Redo{Pick: p}); undo {
		c.Payload = graph.Undo{Pick: p}
	}
	switch {
	case entry == nil && p.CommandID != uuid.Nil && h.model.entries == nil:
		want = "not_found"
	case entry == nil && undo:
		want = "nothing_to_undo"
	case entry == nil:
		want = "nothing_to_redo"
	case undo && h.model.mayUndo(entry), !undo && h.model.mayRedo(entry):
		want = ""
	}
	outcome, err := h.state.Apply(c)
	require.Equal(h.t, want, reason(err), "%v", err)
	if err != nil {
		return
	}
	require.Equal(h.t, entry.sequence, int(outcome.Change.Target.Sequence))
	if undo {
		h.model.undo(entry)
	} else {
		h.model.redo(entry)
	}
}

// pickNamed picks any command of any actor by its id.
func (h *history) pickNamed(p *graph.Pick, undo bool) *modelEntry {
	p.CommandID = uuid.UUID{0: 9}
	if len(h.model.entries) == 0 {
		return nil
	}
	entry := h.model.entries[h.roll(len(h.model.entries), "entry")]
	for id, index := range h.ids {
		if h.model.entries[index] == entry {
			p.CommandID = id
		}
	}
	if undo && inEffect(entry) {
		return entry
	}
	for _, later := range h.model.entriesOf(entry.actor) {
		if undo || later.sequence > entry.undoneBy {
			return nil
		}
	}
	return entry
}

// step runs a random command, UNDO or REDO, and checks all invariants after it.
func (h *history) step() {
	before := &memory{Nodes: maps.Clone(h.state.Nodes), Edges: maps.Clone(h.state.Edges)}
	changes := len(h.state.Journal)
	switch h.roll(10, "what") {
	case 0, 1:
		h.reverse(true)
	case 2, 3:
		h.reverse(false)
	default:
		h.command()
	}
	if len(h.state.Journal) == changes {
		require.Equal(h.t, before.Nodes, h.state.Nodes, "without a change nothing changes")
		require.Equal(h.t, before.Edges, h.state.Edges)
	}
	h.check(before)
}

func (h *history) check(before *memory) {
	require.Equal(
		h.t, h.model.current().visible(), snapshotOf(h.state).visible(),
		"the state is the result of the commands in effect",
	)
	require.Equal(h.t, h.model.changes, len(h.state.Journal))
	folded := graphtest.Fold(h.state.Journal)
	require.Equal(h.t, h.state.Nodes, folded.Nodes, "the journal folds to the state")
	require.Equal(h.t, h.state.Edges, folded.Edges)
	for _, e := range h.state.Edges {
		require.True(h.t, e.Deleted || !h.state.Nodes[e.SourceID].Deleted && !h.state.Nodes[e.TargetID].Deleted,
			"no edge without both ends")
	}
	for id, n := range h.state.Nodes {
		old := before.Nodes[id]
		if old == nil {
			old = &graph.Node{}
		}
		h.checkVersion(old.Lifecycle, n.Lifecycle, reflect.DeepEqual(old, n))
	}
	for id, e := range h.state.Edges {
		old := before.Edges[id]
		if old == nil {
			old = &graph.Edge{}
		}
		h.checkVersion(old.Lifecycle, e.Lifecycle, reflect.DeepEqual(old, e))
	}
}

// checkVersion verifies that the version is incremented by one when the resource changes.
func (h *history) checkVersion(old, now graph.Lifecycle, same bool) {
	if same {
		return
	}
	sequence := graph.Sequence(len(h.state.Journal))
	require.Equal(h.t, old.Version+1, now.Version)
	require.Equal(h.t, sequence, now.ChangedBy)
	require.Equal(h.t, h.state.Journal[sequence-1].At, now.UpdatedAt)
	if old.Version > 0 {
		require.Equal(h.t, old.CreatedAt, now.CreatedAt)
	}
}

func TestUndoAndRedoAreAsIfTheCommandHadNeverBeen(t *testing.T) {
	for range 3 { // the hundred runs of rapid are few for cases that need three actors and a batch
		rapid.Check(t, func(t *rapid.T) {
			h := newHistory(t)
			for range h.steps() {
				h.step()
			}
		})
	}
}

// steps returns the number of steps of a history: usually many, fewer when rapid shrinks
// a failing one.
func (h *history) steps() int { return 60 - min(59, rapid.IntRange(0, 100).Draw(h.t, "fewer")) }

func TestNothingIsUpdatedBeforeItWasCreated(t *testing.T) {
	created := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	life := graph.Lifecycle{Version: 1, ChangedBy: 1, CreatedAt: created, UpdatedAt: created}
	life.Touch(2, created.Add(-time.Hour)) // the clock was set back
	require.Equal(t, created, life.UpdatedAt)
	require.EqualValues(t, 2, life.Version)
	life.Touch(3, created.Add(time.Second))
	require.Equal(t, created.Add(time.Second), life.UpdatedAt)
}
