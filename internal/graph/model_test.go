package graph_test

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// model is the graph as somebody would keep it who knows nothing of stamps: whole
// copies, and for each command what differs between the copy before it and the one
// after. What stands is what the commands that are not undone make of nothing, all
// done over again each time.
type model struct {
	entries []*modelEntry
	changes int // of the journal, UNDO and REDO included
}

// thing is a node or an edge as a map of fields; ends are an edge's.
type thing struct {
	fields map[string]any // "exists" is among them
	ends   []uuid.UUID
}

type world map[uuid.UUID]thing

// place is one field of one thing.
type place struct {
	id    uuid.UUID
	field string
}

type effect struct {
	place
	value any // nil: the field goes
	ends  []uuid.UUID
}

// modelEntry is a command or batch that changed something.
type modelEntry struct {
	sequence  int
	actor     int
	effects   []effect
	found     map[place]int                        // who had written each place that it wrote
	deleted   map[uuid.UUID]map[place]int          // of each thing it deleted: who had written all of its places
	took      map[uuid.UUID]map[uuid.UUID]struct{} // by node: the edges that went with it
	cancelled int                                  // by the UNDO with this sequence; 0: it stands
}

func (w world) clone() world {
	copied := world{}
	for id, t := range w {
		copied[id] = thing{fields: maps.Clone(t.fields), ends: t.ends}
	}
	return copied
}

func (w world) stands(id uuid.UUID) bool { return w[id].fields["exists"] == true }

// dangling reports that an edge stands without one of its ends.
func (w world) dangling() bool {
	for id, t := range w {
		for _, end := range t.ends {
			if w.stands(id) && !w.stands(end) {
				return true
			}
		}
	}
	return false
}

// replay makes the world out of nothing by the entries that stand.
func (m *model) replay(stands func(*modelEntry) bool) world {
	w := world{}
	for _, entry := range m.entries {
		if !stands(entry) {
			continue
		}
		for _, e := range entry.effects {
			if _, ok := w[e.id]; !ok {
				w[e.id] = thing{fields: map[string]any{}, ends: e.ends}
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

func standing(e *modelEntry) bool { return e.cancelled == 0 }

func (m *model) now() world { return m.replay(standing) }

// writers reports which standing entry wrote each place last.
func (m *model) writers() map[place]int {
	last := map[place]int{}
	for _, entry := range m.entries {
		if standing(entry) {
			for _, e := range entry.effects {
				last[e.place] = entry.sequence
			}
		}
	}
	return last
}

// did makes an entry out of the copies of the world before and after each action.
func (m *model) did(actor int, copies []world, took map[uuid.UUID]map[uuid.UUID]struct{}) {
	entry := &modelEntry{actor: actor, found: map[place]int{}, deleted: map[uuid.UUID]map[place]int{}, took: took}
	last := m.writers()
	for i := 1; i < len(copies); i++ {
		entry.effects = append(entry.effects, differences(copies[i-1], copies[i])...)
	}
	if len(entry.effects) == 0 {
		return
	}
	m.changes++
	entry.sequence = m.changes
	for _, e := range entry.effects {
		entry.found[e.place] = last[e.place]
		if e.field == "exists" && e.value == false {
			entry.deleted[e.id] = writersOf(last, e.id)
		}
	}
	m.entries = append(m.entries, entry)
}

func writersOf(last map[place]int, id uuid.UUID) map[place]int {
	of := map[place]int{}
	for p, sequence := range last {
		if p.id == id {
			of[p] = sequence
		}
	}
	return of
}

func differences(before, after world) []effect {
	var found []effect
	for id, t := range after {
		old := before[id].fields
		for field, value := range t.fields {
			if !reflect.DeepEqual(old[field], value) {
				found = append(found, effect{place{id, field}, value, t.ends})
			}
		}
		for field := range old {
			if _, ok := t.fields[field]; !ok {
				found = append(found, effect{place{id, field}, nil, t.ends})
			}
		}
	}
	return found
}

// mayUndo reports whether an entry can be taken out of history as if it had never
// been.
func (m *model) mayUndo(entry *modelEntry) bool {
	now, last := m.now(), m.writers()
	for _, e := range entry.effects {
		if last[e.place] != entry.sequence {
			return false
		}
		if !now.stands(e.id) && last[place{e.id, "exists"}] != entry.sequence {
			return false // gone by somebody else's hand: frozen
		}
		if entry.found[place{e.id, "exists"}] == 0 && e.field == "exists" {
			for _, sequence := range writersOf(last, e.id) {
				if sequence != entry.sequence {
					return false // created here, but others have written to it
				}
			}
		}
	}
	return !m.replay(func(e *modelEntry) bool { return standing(e) && e != entry }).dangling()
}

// mayRedo reports whether an entry finds what it found at first.
func (m *model) mayRedo(entry *modelEntry) bool {
	now, last := m.now(), m.writers()
	created := map[uuid.UUID]bool{}
	for _, e := range entry.effects {
		if e.field == "exists" && entry.found[e.place] == 0 {
			created[e.id] = true
		}
	}
	for _, e := range entry.effects {
		if last[e.place] != entry.found[e.place] || !created[e.id] && !now.stands(e.id) {
			return false
		}
		for _, end := range e.ends {
			if created[e.id] && !created[end] && !now.stands(end) {
				return false // also if the same batch deletes the edge in the end
			}
		}
	}
	for id, writers := range entry.deleted {
		if entry.isTaken(id) {
			for p, sequence := range writersOf(last, id) {
				if sequence > entry.sequence && p.field != "exists" {
					return false
				}
			}
		} else if !created[id] && !maps.Equal(writers, writersOf(last, id)) {
			return false
		}
	}
	return !m.replay(func(e *modelEntry) bool { return standing(e) || e == entry }).dangling()
}

func (e *modelEntry) isTaken(id uuid.UUID) bool {
	for _, edges := range e.took {
		if _, ok := edges[id]; ok {
			return true
		}
	}
	return false
}

// of returns the entries of an actor, or with -1 of all.
func (m *model) of(actor int) []*modelEntry {
	var of []*modelEntry
	for _, entry := range m.entries {
		if actor < 0 || entry.actor == actor {
			of = append(of, entry)
		}
	}
	return of
}

// toUndo and toRedo are the entries that the actor's, or with -1 the workspace's,
// next UNDO and REDO are about; nil: none.
func (m *model) toUndo(actor int) *modelEntry {
	var top *modelEntry
	for _, entry := range m.of(actor) {
		if standing(entry) {
			top = entry
		}
	}
	return top
}

func (m *model) toRedo(actor int) *modelEntry {
	var top *modelEntry
	all := m.of(actor)
	for _, entry := range all {
		cleared := false
		for _, later := range all {
			cleared = cleared || later.sequence > entry.cancelled
		}
		if !standing(entry) && !cleared && (top == nil || entry.cancelled > top.cancelled) {
			top = entry
		}
	}
	return top
}

// undo and redo change the entry; both are changes of the journal.
func (m *model) undo(entry *modelEntry) {
	m.changes++
	entry.cancelled = m.changes
}

func (m *model) redo(entry *modelEntry) {
	m.changes++
	entry.cancelled = 0
}

// seen is the world that a State shows, in the model's terms.
func seen(s *memory) world {
	w := world{}
	for id, n := range s.Nodes {
		fields := map[string]any{"name": n.Name, "entityType": string(n.EntityType)}
		if n.Description != nil {
			fields["description"] = *n.Description
		}
		w[id] = asThing(fields, n.Properties, n.Deleted)
	}
	for id, e := range s.Edges {
		t := asThing(map[string]any{"relationType": e.RelationType}, e.Properties, e.Deleted)
		t.ends = []uuid.UUID{e.SourceID, e.TargetID}
		w[id] = t
	}
	return w
}

func asThing(fields map[string]any, properties graph.Properties, deleted bool) thing {
	for name, raw := range properties {
		var value any
		_ = json.Unmarshal(raw, &value)
		fields["properties."+name] = value
	}
	fields["exists"] = !deleted
	return thing{fields: fields}
}

// shown leaves out what was created and undone: nothing of it can be seen.
func (w world) shown() world {
	visible := world{}
	for id, t := range w {
		if w.stands(id) {
			visible[id] = t
		}
	}
	return visible
}
