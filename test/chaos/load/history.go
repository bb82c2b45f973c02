package load

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

// keptChanges is how many of the newest changes are kept to hold undos against. One of
// an older change is not looked at.
const keptChanges = 2000

// history is a workspace's journal as it was read so far, folded into the graph that
// must stand.
type history struct {
	graph *graphtest.Memory
	last  int64
	kept  map[graph.Sequence]*traces
	// commands has whose the newest changes are.
	commands map[graph.Sequence]uuid.UUID
	turns    turns
	// fresh are the nodes that a change of the last reading touched.
	fresh map[uuid.UUID]bool
}

// traces are what a change touched, as it was before and after. What was not there
// before is nil.
type traces struct {
	nodes map[uuid.UUID][2]*graph.Node
	edges map[uuid.UUID][2]*graph.Edge
}

// journalRow is an entry of the journal.
type journalRow struct {
	sequence int64
	command  uuid.UUID
	change   *graph.Change
}

func newHistory() *history {
	return &history{
		graph: graphtest.NewMemory(), kept: map[graph.Sequence]*traces{}, commands: map[graph.Sequence]uuid.UUID{},
		fresh: map[uuid.UUID]bool{},
	}
}

// follow folds further entries of the journal, and says what is wrong with them:
// sequences with gaps or repeats, versions that do not go up by one, edges without
// ends, and undos that do not bring back what was. answered has depths of stacks that
// were answered, by the command.
func (h *history) follow(journal []journalRow, answered map[uuid.UUID]depths) (found []Violation) {
	clear(h.fresh)
	for _, row := range journal {
		if row.sequence != h.last+1 || int64(row.change.Sequence) != row.sequence || row.change.CommandID != row.command {
			found = shown(found, Violation{5, "the journal has a gap, a repeat or an entry that is not what its row says",
				fmt.Sprintf(
					"sequence %d of command %s after %d; the entry says %d of %s", row.sequence, row.command, h.last,
					row.change.Sequence, row.change.CommandID,
				)})
		}
		h.last = row.sequence
		t := h.fold(row.change)
		var stacks *depths
		if said, ok := answered[row.command]; ok {
			stacks = &said
		}
		for _, v := range slices.Concat(
			t.versions(row), h.ends(t, row), h.reversal(t, row), h.turns.follow(row.change, stacks),
		) {
			found = shown(found, v)
		}
		h.kept[row.change.Sequence] = t
		h.commands[row.change.Sequence] = row.command
		delete(h.kept, row.change.Sequence-keptChanges)
		delete(h.commands, row.change.Sequence-keptChanges)
	}
	return found
}

// fold carries a change out, and gives what it touched.
func (h *history) fold(c *graph.Change) *traces {
	t := &traces{nodes: map[uuid.UUID][2]*graph.Node{}, edges: map[uuid.UUID][2]*graph.Edge{}}
	before := &graphtest.Memory{}
	for i := range c.Steps {
		step := &c.Steps[i]
		if step.Cascade != nil && before.Edges == nil {
			before.Edges = maps.Clone(h.graph.Edges)
		}
		if step.Node != nil {
			if _, again := t.nodes[step.Node.ID]; !again {
				t.nodes[step.Node.ID] = [2]*graph.Node{h.graph.Nodes[step.Node.ID]}
			}
			h.fresh[step.Node.ID] = true
		}
		if step.Edge != nil {
			if _, again := t.edges[step.Edge.ID]; !again {
				old := h.graph.Edges[step.Edge.ID]
				if before.Edges != nil { // it may have come back with a node, earlier in this change
					old = before.Edges[step.Edge.ID]
				}
				t.edges[step.Edge.ID] = [2]*graph.Edge{old}
			}
		}
		_ = h.graph.Do(step, c.Sequence, c.At)
	}
	for id, old := range before.Edges { // those that went with a node, or came back
		if _, named := t.edges[id]; !named && h.graph.Edges[id] != old {
			t.edges[id] = [2]*graph.Edge{old}
		}
	}
	for id, pair := range t.nodes {
		t.nodes[id] = [2]*graph.Node{pair[0], h.graph.Nodes[id]}
	}
	for id, pair := range t.edges {
		t.edges[id] = [2]*graph.Edge{pair[0], h.graph.Edges[id]}
	}
	return t
}

// lives pairs the lifecycles of all that a change touched.
func (t *traces) lives() map[string][2]*graph.Lifecycle {
	all := map[string][2]*graph.Lifecycle{}
	for id, pair := range t.nodes {
		lives := [2]*graph.Lifecycle{1: &pair[1].Lifecycle}
		if pair[0] != nil {
			lives[0] = &pair[0].Lifecycle
		}
		all["node "+id.String()] = lives
	}
	for id, pair := range t.edges {
		lives := [2]*graph.Lifecycle{1: &pair[1].Lifecycle}
		if pair[0] != nil {
			lives[0] = &pair[0].Lifecycle
		}
		all["edge "+id.String()] = lives
	}
	return all
}

// versions holds that what a change touched is of the next version.
func (t *traces) versions(row journalRow) (found []Violation) {
	for what, pair := range t.lives() {
		want := int64(1)
		if pair[0] != nil {
			want = pair[0].Version + 1
		}
		if pair[1].Version != want {
			found = append(found, Violation{6, "a change did not raise a version by one", fmt.Sprintf(
				"change %d, %s: %d, not %d", row.sequence, what, pair[1].Version, want,
			)})
		}
	}
	return found
}

// ends holds that edges that a change touched, or whose ends it touched, have both ends.
func (h *history) ends(t *traces, row journalRow) (found []Violation) {
	stands := func(id uuid.UUID) bool { n := h.graph.Nodes[id]; return n != nil && !n.Deleted }
	look := func(e *graph.Edge) {
		if !e.Deleted && (!stands(e.SourceID) || !stands(e.TargetID)) {
			found = append(found, Violation{7, "an edge stands without an end", fmt.Sprintf(
				"after change %d: edge %s from %s to %s", row.sequence, e.ID, e.SourceID, e.TargetID,
			)})
		}
	}
	gone := false
	for _, pair := range t.nodes {
		gone = gone || pair[1].Deleted
	}
	for _, pair := range t.edges {
		look(pair[1])
	}
	if gone {
		for _, e := range h.graph.Edges {
			if _, touched := t.edges[e.ID]; !touched {
				look(e)
			}
		}
	}
	return found
}

// reversal holds an UNDO or a REDO against the change that it is about: what that one
// changed is again as before it, or as after it.
func (h *history) reversal(t *traces, row journalRow) (found []Violation) {
	if row.change.Target == nil {
		return nil
	}
	target := h.kept[row.change.Target.Sequence]
	if target == nil {
		return nil
	}
	want := 0
	if row.change.Type == graph.TypeRedo {
		want = 1
	}
	wrong := func(what string, id uuid.UUID, why string) {
		found = append(found, Violation{8, "an undo or redo does not bring back what was", fmt.Sprintf(
			"change %d is %s of %d; %s %s %s", row.sequence, row.change.Type, row.change.Target.Sequence, what, id, why,
		)})
	}
	for id, pair := range target.nodes {
		if why := differsNode(pair, want, h.graph.Nodes[id]); why != "" {
			wrong("node", id, why)
		}
	}
	for id, pair := range target.edges {
		if why := differsEdge(pair, want, h.graph.Edges[id]); why != "" {
			wrong("edge", id, why)
		}
	}
	for id := range t.nodes {
		if _, ok := target.nodes[id]; !ok {
			wrong("node", id, "was not touched by that one")
		}
	}
	for id := range t.edges {
		if _, ok := target.edges[id]; !ok {
			wrong("edge", id, "was not touched by that one")
		}
	}
	return found
}

// differsNode reports how a node is not as it was before (want 0) or after (1) a change, in
// what the change changed.
func differsNode(pair [2]*graph.Node, want int, now *graph.Node) string {
	why := differsInBeing(pair[0] == nil || pair[0].Deleted, pair[1].Deleted, want, now.Deleted)
	if why != "" || now.Deleted {
		return why
	}
	text := func(s *string) string {
		if s == nil {
			return "none"
		}
		return "is " + *s
	}
	fields := func(n *graph.Node) map[string]string {
		if n == nil || n.Deleted {
			return map[string]string{}
		}
		all := map[string]string{"name": n.Name, "entityType": string(n.EntityType), "description": text(n.Description)}
		return withProperties(all, n.Properties)
	}
	return differsInFields(fields(pair[0]), fields(pair[1]), want, fields(now))
}

func differsEdge(pair [2]*graph.Edge, want int, now *graph.Edge) string {
	why := differsInBeing(pair[0] == nil || pair[0].Deleted, pair[1].Deleted, want, now.Deleted)
	if why != "" || now.Deleted {
		return why
	}
	fields := func(e *graph.Edge) map[string]string {
		if e == nil || e.Deleted {
			return map[string]string{}
		}
		all := map[string]string{
			"relationType": e.RelationType, "sourceId": e.SourceID.String(), "targetId": e.TargetID.String(),
		}
		return withProperties(all, e.Properties)
	}
	return differsInFields(fields(pair[0]), fields(pair[1]), want, fields(now))
}

func withProperties(all map[string]string, p graph.Properties) map[string]string {
	for key, v := range p {
		all["properties."+key] = string(v)
	}
	return all
}

// differsInBeing compares whether something stands, where the change had to do with it.
func differsInBeing(goneBefore, goneAfter bool, want int, gone bool) string {
	if goneBefore == goneAfter {
		return ""
	}
	if wanted := []bool{goneBefore, goneAfter}[want]; gone != wanted {
		return fmt.Sprintf("is gone: %t, must be: %t", gone, wanted)
	}
	return ""
}

// differsInFields compares the fields that differ between before and after.
func differsInFields(before, after map[string]string, want int, now map[string]string) string {
	wanted := []map[string]string{before, after}[want]
	for _, field := range slices.Sorted(maps.Keys(merged(before, after))) {
		old, had := before[field]
		changed, has := after[field]
		if had == has && old == changed {
			continue
		}
		is, there := now[field]
		if must, so := wanted[field]; is != must || there != so {
			return fmt.Sprintf("has %s = %q (there: %t), must have %q (%t)", field, is, there, must, so)
		}
	}
	return ""
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
