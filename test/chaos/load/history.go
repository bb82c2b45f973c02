package load

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

// maxChanges is the number of the newest changes that are kept for checking undos. Undos of older
// changes are not checked.
const maxChanges = 2000

// history is the journal of a workspace as read so far, applied to the graph that the workspace
// must have.
type history struct {
	graph   *graphtest.Memory
	last    int64
	effects map[graph.Sequence]*effect
	// commands contains the command ids of the newest changes.
	commands  map[graph.Sequence]uuid.UUID
	undoOrder undoOrder
	// touched contains the nodes that the changes of the last reading touched.
	touched map[uuid.UUID]bool
}

// effect contains the nodes and edges that a change touched, before and after it. A state is nil if
// the node or edge did not exist.
type effect struct {
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
		graph: graphtest.NewMemory(), effects: map[graph.Sequence]*effect{}, commands: map[graph.Sequence]uuid.UUID{},
		touched: map[uuid.UUID]bool{},
	}
}

// follow applies further entries of the journal, and returns what is wrong with them: gaps or
// repeats in the sequence, versions that do not increase by one, edges without a node, and undos
// that do not restore the state before. answered contains the depths of the undo and redo stacks
// that were answered, by command id.
func (h *history) follow(journal []journalRow, answered map[uuid.UUID]depths) (found []Violation) {
	clear(h.touched)
	for _, row := range journal {
		if row.sequence != h.last+1 || int64(row.change.Sequence) != row.sequence || row.change.CommandID != row.command {
			found = appendLimited(found, Violation{
				5, "the journal has a gap, a repeat or an entry that is not what its row says",
				fmt.Sprintf(
					"sequence %d of command %s after %d; the entry says %d of %s", row.sequence, row.command, h.last,
					row.change.Sequence, row.change.CommandID,
				),
			})
		}
		h.last = row.sequence
		for _, v := range h.checkUpsert(row) {
			found = appendLimited(found, v)
		}
		t := h.fold(row.change)
		var stacks *depths
		if reply, ok := answered[row.command]; ok {
			stacks = &reply
		}
		for _, v := range slices.Concat(
			t.checkVersions(row), h.checkEnds(t, row), h.checkReversal(t, row), h.undoOrder.follow(row.change, stacks),
		) {
			found = appendLimited(found, v)
		}
		h.effects[row.change.Sequence] = t
		h.commands[row.change.Sequence] = row.command
		delete(h.effects, row.change.Sequence-maxChanges)
		delete(h.commands, row.change.Sequence-maxChanges)
	}
	return found
}

// checkUpsert checks that an upsert creates a node only if none has its key. It is called before the change is applied.
func (h *history) checkUpsert(row journalRow) (found []Violation) {
	for i := range row.change.Steps {
		step := &row.change.Steps[i]
		if row.change.Target != nil || step.Type != graph.TypeCreateNode || step.Node.Properties[upsertProperty] == nil {
			continue
		}
		key := graph.NodeKey{
			EntityType: step.Node.EntityType, Property: upsertProperty, Value: string(step.Node.Properties[upsertProperty]),
		}
		for _, n := range h.graph.Nodes {
			if key.Matches(n) {
				found = append(found, Violation{4, "an upsert created a second node with its key", fmt.Sprintf(
					"change %d: node %s beside %s, key %s", row.sequence, step.Node.ID, n.ID, key.Value,
				)})
			}
		}
	}
	return found
}

// fold applies a change and returns its effect.
func (h *history) fold(c *graph.Change) *effect {
	t := &effect{nodes: map[uuid.UUID][2]*graph.Node{}, edges: map[uuid.UUID][2]*graph.Edge{}}
	before := &graphtest.Memory{}
	for i := range c.Steps {
		step := &c.Steps[i]
		if step.Cascade != nil && before.Edges == nil {
			before.Edges = maps.Clone(h.graph.Edges)
		}
		if step.Node != nil {
			if _, seen := t.nodes[step.Node.ID]; !seen {
				t.nodes[step.Node.ID] = [2]*graph.Node{h.graph.Nodes[step.Node.ID]}
			}
			h.touched[step.Node.ID] = true
		}
		if step.Edge != nil {
			if _, seen := t.edges[step.Edge.ID]; !seen {
				old := h.graph.Edges[step.Edge.ID]
				if before.Edges != nil { // it may have been restored with a node earlier in this change
					old = before.Edges[step.Edge.ID]
				}
				t.edges[step.Edge.ID] = [2]*graph.Edge{old}
			}
		}
		_ = h.graph.Do(step, c.Sequence, c.At)
	}
	for id, old := range before.Edges { // edges that were deleted or restored with a node
		if _, seen := t.edges[id]; !seen && h.graph.Edges[id] != old {
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

// lifecycles returns the lifecycles before and after the change of everything that it touched.
func (t *effect) lifecycles() map[string][2]*graph.Lifecycle {
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

// checkVersions checks that the change raised each version by one.
func (t *effect) checkVersions(row journalRow) (found []Violation) {
	for what, pair := range t.lifecycles() {
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

// checkEnds checks that both nodes exist of each edge that the change touched, or whose nodes it
// touched.
func (h *history) checkEnds(t *effect, row journalRow) (found []Violation) {
	exists := func(id uuid.UUID) bool { n := h.graph.Nodes[id]; return n != nil && !n.Deleted }
	check := func(e *graph.Edge) {
		if !e.Deleted && (!exists(e.SourceID) || !exists(e.TargetID)) {
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
		check(pair[1])
	}
	if gone {
		for _, e := range h.graph.Edges {
			if _, touched := t.edges[e.ID]; !touched {
				check(e)
			}
		}
	}
	return found
}

// checkReversal checks that an UNDO or a REDO restores the state before or after its target change,
// of exactly what the target touched.
func (h *history) checkReversal(t *effect, row journalRow) (found []Violation) {
	if row.change.Target == nil {
		return nil
	}
	target := h.effects[row.change.Target.Sequence]
	if target == nil {
		return nil
	}
	want := 0
	if row.change.Type == graph.TypeRedo {
		want = 1
	}
	report := func(what string, id uuid.UUID, why string) {
		found = append(found, Violation{8, "an undo or redo does not bring back what was", fmt.Sprintf(
			"change %d is %s of %d; %s %s %s", row.sequence, row.change.Type, row.change.Target.Sequence, what, id, why,
		)})
	}
	for id, pair := range target.nodes {
		if why := differsNode(pair, want, h.graph.Nodes[id]); why != "" {
			report("node", id, why)
		}
	}
	for id, pair := range target.edges {
		if why := differsEdge(pair, want, h.graph.Edges[id]); why != "" {
			report("edge", id, why)
		}
	}
	for id := range t.nodes {
		if _, ok := target.nodes[id]; !ok {
			report("node", id, "was not touched by that one")
		}
	}
	for id := range t.edges {
		if _, ok := target.edges[id]; !ok {
			report("edge", id, "was not touched by that one")
		}
	}
	return found
}

// differsNode describes how a node differs from its state before (want 0) or after (want 1) a
// change, in the fields that the change changed; "" if it does not.
func differsNode(pair [2]*graph.Node, want int, now *graph.Node) string {
	why := differsInExistence(pair[0] == nil || pair[0].Deleted, pair[1].Deleted, want, now.Deleted)
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
	why := differsInExistence(pair[0] == nil || pair[0].Deleted, pair[1].Deleted, want, now.Deleted)
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

// differsInExistence compares whether something exists, if the change created or deleted it.
func differsInExistence(goneBefore, goneAfter bool, want int, gone bool) string {
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
		old, inOld := before[field]
		changed, inNew := after[field]
		if inOld == inNew && old == changed {
			continue
		}
		got, gotOK := now[field]
		if expected, expectedOK := wanted[field]; got != expected || gotOK != expectedOK {
			return fmt.Sprintf("has %s = %q (there: %t), must have %q (%t)", field, got, gotOK, expected, expectedOK)
		}
	}
	return ""
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
