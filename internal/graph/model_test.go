package graph_test

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// model is a reference implementation of the graph without stamps. It compares complete
// snapshots, and stores for each command the differences between the snapshot before it
// and the one after. The current snapshot is computed each time by replaying the commands
// that are not undone.
type model struct {
	entries []*modelEntry
	changes int // of the journal, UNDO and REDO included
}

// resource is a node or an edge as a map of fields. An edge has ends.
type resource struct {
	fields map[string]any // includes "exists"
	ends   []uuid.UUID
}

type snapshot map[uuid.UUID]resource

// fieldKey identifies one field of one resource.
type fieldKey struct {
	id    uuid.UUID
	field string
}

type effect struct {
	fieldKey
	value any // nil: the field is removed
	ends  []uuid.UUID
}

// modelEntry is a command or batch that changed something.
type modelEntry struct {
	sequence       int
	actor          int
	effects        []effect
	priorWriters   map[fieldKey]int                     // for each field that it wrote: its last writer before
	deletedWriters map[uuid.UUID]map[fieldKey]int       // by deleted resource: the last writers of its fields
	cascades       map[uuid.UUID]map[uuid.UUID]struct{} // by node: the edges that were deleted with it
	undoneBy       int                                  // sequence of the UNDO; 0: the command is in effect
}

func (w snapshot) clone() snapshot {
	clone := snapshot{}
	for id, t := range w {
		clone[id] = resource{fields: maps.Clone(t.fields), ends: t.ends}
	}
	return clone
}

func (w snapshot) isLive(id uuid.UUID) bool { return w[id].fields["exists"] == true }

// hasDanglingEdge reports whether one of the ends of a live edge is not live.
func (w snapshot) hasDanglingEdge() bool {
	for id, t := range w {
		for _, end := range t.ends {
			if w.isLive(id) && !w.isLive(end) {
				return true
			}
		}
	}
	return false
}

// replay applies the included entries to an empty snapshot.
func (m *model) replay(include func(*modelEntry) bool) snapshot {
	w := snapshot{}
	for _, entry := range m.entries {
		if !include(entry) {
			continue
		}
		for _, e := range entry.effects {
			if _, ok := w[e.id]; !ok {
				w[e.id] = resource{fields: map[string]any{}, ends: e.ends}
			}
			if e.value == nil {
				delete(w[e.id].fields, e.field)
			} else {
				w[e.id].fields[e.field] = e.value
			}
		}
	}
	return w
}

func inEffect(e *modelEntry) bool { return e.undoneBy == 0 }

func (m *model) current() snapshot { return m.replay(inEffect) }

// lastWriters returns for each field the entry in effect that wrote it last.
func (m *model) lastWriters() map[fieldKey]int {
	last := map[fieldKey]int{}
	for _, entry := range m.entries {
		if inEffect(entry) {
			for _, e := range entry.effects {
				last[e.fieldKey] = entry.sequence
			}
		}
	}
	return last
}

// record adds an entry. copies are the snapshots before and after each action.
func (m *model) record(actor int, copies []snapshot, cascades map[uuid.UUID]map[uuid.UUID]struct{}) {
	entry := &modelEntry{
		actor: actor, priorWriters: map[fieldKey]int{}, deletedWriters: map[uuid.UUID]map[fieldKey]int{}, cascades: cascades,
	}
	last := m.lastWriters()
	for i := 1; i < len(copies); i++ {
		entry.effects = append(entry.effects, differences(copies[i-1], copies[i])...)
	}
	if len(entry.effects) == 0 {
		return
	}
	m.changes++
	entry.sequence = m.changes
	for _, e := range entry.effects {
		entry.priorWriters[e.fieldKey] = last[e.fieldKey]
		if e.field == "exists" && e.value == false {
			entry.deletedWriters[e.id] = writersOf(last, e.id)
		}
	}
	m.entries = append(m.entries, entry)
}

func writersOf(last map[fieldKey]int, id uuid.UUID) map[fieldKey]int {
	result := map[fieldKey]int{}
	for p, sequence := range last {
		if p.id == id {
			result[p] = sequence
		}
	}
	return result
}

func differences(before, after snapshot) []effect {
	var effects []effect
	for id, t := range after {
		old := before[id].fields
		for field, value := range t.fields {
			if !reflect.DeepEqual(old[field], value) {
				effects = append(effects, effect{fieldKey{id, field}, value, t.ends})
			}
		}
		for field := range old {
			if _, ok := t.fields[field]; !ok {
				effects = append(effects, effect{fieldKey{id, field}, nil, t.ends})
			}
		}
	}
	return effects
}

// mayUndo reports whether an entry can be removed from the history.
func (m *model) mayUndo(entry *modelEntry) bool {
	current, last := m.current(), m.lastWriters()
	for _, e := range entry.effects {
		if last[e.fieldKey] != entry.sequence {
			return false
		}
		if !current.isLive(e.id) && last[fieldKey{e.id, "exists"}] != entry.sequence {
			return false // deleted by another command: frozen
		}
		if entry.priorWriters[fieldKey{e.id, "exists"}] == 0 && e.field == "exists" {
			for _, sequence := range writersOf(last, e.id) {
				if sequence != entry.sequence {
					return false // created here, but others have written to it
				}
			}
		}
	}
	return !m.replay(func(e *modelEntry) bool { return inEffect(e) && e != entry }).hasDanglingEdge()
}

// mayRedo reports whether an entry would overwrite the same state as originally.
func (m *model) mayRedo(entry *modelEntry) bool {
	now, last := m.current(), m.lastWriters()
	created := map[uuid.UUID]bool{}
	for _, e := range entry.effects {
		if e.field == "exists" && entry.priorWriters[e.fieldKey] == 0 {
			created[e.id] = true
		}
	}
	for _, e := range entry.effects {
		if last[e.fieldKey] != entry.priorWriters[e.fieldKey] || !created[e.id] && !now.isLive(e.id) {
			return false
		}
	}
	for id, writers := range entry.deletedWriters {
		if entry.isCascadeDeleted(id) {
			for p, sequence := range writersOf(last, id) {
				if sequence > entry.sequence && p.field != "exists" {
					return false
				}
			}
		} else if !created[id] && !maps.Equal(writers, writersOf(last, id)) {
			return false
		}
	}
	return !m.replay(func(e *modelEntry) bool { return inEffect(e) || e == entry }).hasDanglingEdge()
}

func (e *modelEntry) isCascadeDeleted(id uuid.UUID) bool {
	for _, edges := range e.cascades {
		if _, ok := edges[id]; ok {
			return true
		}
	}
	return false
}

// entriesOf returns the entries of an actor, or of all actors for -1.
func (m *model) entriesOf(actor int) []*modelEntry {
	var result []*modelEntry
	for _, entry := range m.entries {
		if actor < 0 || entry.actor == actor {
			result = append(result, entry)
		}
	}
	return result
}

// toUndo and toRedo return the entries that the next UNDO and REDO of the actor refer to,
// or of the workspace for -1; nil: none.
func (m *model) toUndo(actor int) *modelEntry {
	var top *modelEntry
	for _, entry := range m.entriesOf(actor) {
		if inEffect(entry) {
			top = entry
		}
	}
	return top
}

func (m *model) toRedo(actor int) *modelEntry {
	var top *modelEntry
	all := m.entriesOf(actor)
	for _, entry := range all {
		cleared := false
		for _, later := range all {
			cleared = cleared || later.sequence > entry.undoneBy
		}
		if !inEffect(entry) && !cleared && (top == nil || entry.undoneBy > top.undoneBy) {
			top = entry
		}
	}
	return top
}

// undo and redo update the entry. Both are changes of the journal.
func (m *model) undo(entry *modelEntry) {
	m.changes++
	entry.undoneBy = m.changes
}

func (m *model) redo(entry *modelEntry) {
	m.changes++
	entry.undoneBy = 0
}

// snapshotOf returns the snapshot of a State.
func snapshotOf(s *memory) snapshot {
	w := snapshot{}
	for id, n := range s.Nodes {
		fields := map[string]any{"name": n.Name, "entityType": string(n.EntityType)}
		if n.Description != nil {
			fields["description"] = *n.Description
		}
		w[id] = newResource(fields, n.Properties, n.Deleted)
	}
	for id, e := range s.Edges {
		t := newResource(map[string]any{"relationType": e.RelationType}, e.Properties, e.Deleted)
		t.ends = []uuid.UUID{e.SourceID, e.TargetID}
		w[id] = t
	}
	return w
}

func newResource(fields map[string]any, properties graph.Properties, deleted bool) resource {
	for name, raw := range properties {
		var value any
		_ = json.Unmarshal(raw, &value)
		fields["properties."+name] = value
	}
	fields["exists"] = !deleted
	return resource{fields: fields}
}

// visible returns the resources that are live.
func (w snapshot) visible() snapshot {
	result := snapshot{}
	for id, t := range w {
		if w.isLive(id) {
			result[id] = t
		}
	}
	return result
}
