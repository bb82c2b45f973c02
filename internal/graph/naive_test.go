package graph_test

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// applyNaive applies an action to a copy of the snapshot. It returns the reason if the
// action fails.
func applyNaive(w snapshot, a graph.Action, cascades map[uuid.UUID]map[uuid.UUID]struct{}) (snapshot, string) {
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
		w[p.ID] = resource{fields: fields}
		applyNaivePatch(w[p.ID], p.Properties)
	case graph.UpdateNode:
		if !w.isLive(p.ID) {
			return nil, "not_found"
		}
		if p.Name != nil {
			w[p.ID].fields["name"] = *p.Name
		}
		if p.ClearDescription {
			delete(w[p.ID].fields, "description")
		}
		applyNaivePatch(w[p.ID], p.Properties)
	case graph.DeleteNode:
		if !w.isLive(p.ID) {
			return nil, "not_found"
		}
		cascades[p.ID] = map[uuid.UUID]struct{}{}
		for id, t := range w {
			if w.isLive(id) && len(t.ends) > 0 && (t.ends[0] == p.ID || t.ends[1] == p.ID) {
				cascades[p.ID][id] = struct{}{}
				t.fields["exists"] = false
			}
		}
		w[p.ID].fields["exists"] = false
	case graph.CreateEdge:
		switch {
		case exists(p.ID):
			return nil, "already_exists"
		case !w.isLive(p.SourceID) || !w.isLive(p.TargetID):
			return nil, "not_found"
		}
		w[p.ID] = resource{
			fields: map[string]any{"exists": true, "relationType": p.RelationType}, ends: []uuid.UUID{p.SourceID, p.TargetID},
		}
		applyNaivePatch(w[p.ID], p.Properties)
	case graph.UpdateEdge:
		if !w.isLive(p.ID) {
			return nil, "not_found"
		}
		w[p.ID].fields["relationType"] = *p.RelationType
		applyNaivePatch(w[p.ID], p.Properties)
	case graph.UpsertNode, graph.UpsertEdge:
		return applyNaiveUpsert(w, p)
	case graph.DeleteEdge:
		if !w.isLive(p.ID) {
			return nil, "not_found"
		}
		w[p.ID].fields["exists"] = false
	}
	return w, ""
}

func applyNaivePatch(t resource, patch []byte) {
	var changes map[string]any
	_ = json.Unmarshal(patch, &changes)
	for name, change := range changes {
		field := "properties." + name
		if change == nil {
			delete(t.fields, field)
		} else {
			// mergePatch modifies its target: do not modify the old snapshots.
			var old any
			raw, _ := json.Marshal(t.fields[field])
			_ = json.Unmarshal(raw, &old)
			t.fields[field] = mergePatch(old, change)
		}
	}
}
