package graph_test

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// naive carries an action out on a copy of the world.
func naive(w world, a graph.Action, took map[uuid.UUID]map[uuid.UUID]struct{}) (world, string) {
	w = w.clone()
	exists := func(id uuid.UUID) bool { _, used := w[id]; return used }
	switch p := a.Payload.(type) {
	case graph.CreateNode:
		if exists(p.ID) {
			return nil, "already_exists"
		}
		fields := map[string]any{"exists": true, "name": p.Name, "entityType": string(p.EntityType)}
		if p.Description != nil {
			fields["description"] = *p.Description
		}
		w[p.ID] = thing{fields: fields}
		naivePatch(w[p.ID], p.Properties)
	case graph.UpdateNode:
		if !w.stands(p.ID) {
			return nil, "not_found"
		}
		if p.Name != nil {
			w[p.ID].fields["name"] = *p.Name
		}
		if p.ClearDescription {
			delete(w[p.ID].fields, "description")
		}
		naivePatch(w[p.ID], p.Properties)
	case graph.DeleteNode:
		if !w.stands(p.ID) {
			return nil, "not_found"
		}
		took[p.ID] = map[uuid.UUID]struct{}{}
		for id, t := range w {
			if w.stands(id) && len(t.ends) > 0 && (t.ends[0] == p.ID || t.ends[1] == p.ID) {
				took[p.ID][id] = struct{}{}
				t.fields["exists"] = false
			}
		}
		w[p.ID].fields["exists"] = false
	case graph.CreateEdge:
		switch {
		case exists(p.ID):
			return nil, "already_exists"
		case !w.stands(p.SourceID) || !w.stands(p.TargetID):
			return nil, "not_found"
		}
		w[p.ID] = thing{
			fields: map[string]any{"exists": true, "relationType": p.RelationType}, ends: []uuid.UUID{p.SourceID, p.TargetID},
		}
		naivePatch(w[p.ID], p.Properties)
	case graph.UpdateEdge:
		if !w.stands(p.ID) {
			return nil, "not_found"
		}
		w[p.ID].fields["relationType"] = *p.RelationType
		naivePatch(w[p.ID], p.Properties)
	case graph.DeleteEdge:
		if !w.stands(p.ID) {
			return nil, "not_found"
		}
		w[p.ID].fields["exists"] = false
	}
	return w, ""
}

func naivePatch(t thing, patch []byte) {
	var changes map[string]any
	_ = json.Unmarshal(patch, &changes)
	for name, change := range changes {
		field := "properties." + name
		if change == nil {
			delete(t.fields, field)
		} else {
			// The merge changes what it is given: keep the old copies whole.
			var old any
			raw, _ := json.Marshal(t.fields[field])
			_ = json.Unmarshal(raw, &old)
			t.fields[field] = mergePatch(old, change)
		}
	}
}
