package graph_test

import (
	"encoding/json"
	"reflect"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
)

// naiveMatches returns the live nodes of a snapshot with a key.
func naiveMatches(w snapshot, key graph.NodeKey) []uuid.UUID {
	var value any
	_ = json.Unmarshal([]byte(key.Value), &value)
	var found []uuid.UUID
	for id, r := range w {
		if r.ends == nil && w.isLive(id) && r.fields["entityType"] == string(key.EntityType) &&
			reflect.DeepEqual(r.fields["properties."+key.Property], value) {
			found = append(found, id)
		}
	}
	return found
}

// naiveRef returns the node of a reference, or the reason why there is none.
func naiveRef(w snapshot, r graph.NodeRef) (id uuid.UUID, reason string) {
	if r.Key == nil {
		if !w.isLive(r.ID) {
			return r.ID, "not_found"
		}
		return r.ID, ""
	}
	switch found := naiveMatches(w, *r.Key); len(found) {
	case 0:
		return id, "not_found"
	case 1:
		return found[0], ""
	}
	return id, "ambiguous"
}

// applyNaiveUpsert applies an upsert to a snapshot, which it may modify.
func applyNaiveUpsert(w snapshot, payload graph.Payload) (snapshot, string) {
	if p, ok := payload.(graph.UpsertEdge); ok {
		return applyNaiveUpsertEdge(w, p)
	}
	p := payload.(graph.UpsertNode)
	found := naiveMatches(w, p.Key)
	if len(found) > 1 {
		return nil, "ambiguous"
	}
	id := p.ID
	if len(found) == 1 {
		id = found[0]
	} else {
		if _, used := w[id]; used {
			return nil, "already_exists"
		}
		var value any
		_ = json.Unmarshal([]byte(p.Key.Value), &value)
		name, ok := value.(string)
		if !ok {
			name = p.Key.Value
		}
		w[id] = resource{fields: map[string]any{
			"exists": true, "name": name, "entityType": string(p.Key.EntityType), "properties." + p.Key.Property: value,
		}}
	}
	if p.Name != nil {
		w[id].fields["name"] = *p.Name
	}
	if p.Description != nil {
		w[id].fields["description"] = *p.Description
	} else if p.ClearDescription {
		delete(w[id].fields, "description")
	}
	applyNaivePatch(w[id], p.Properties)
	return w, ""
}

func applyNaiveUpsertEdge(w snapshot, p graph.UpsertEdge) (snapshot, string) {
	source, reason := naiveRef(w, p.Source)
	if reason != "" {
		return nil, reason
	}
	target, reason := naiveRef(w, p.Target)
	if reason != "" {
		return nil, reason
	}
	var found []uuid.UUID
	for id, r := range w {
		if w.isLive(id) && reflect.DeepEqual(r.ends, []uuid.UUID{source, target}) &&
			r.fields["relationType"] == p.RelationType {
			found = append(found, id)
		}
	}
	id := p.ID
	switch _, used := w[p.ID]; {
	case len(found) > 1:
		return nil, "ambiguous"
	case len(found) == 1:
		id = found[0]
	case used:
		return nil, "already_exists"
	default:
		w[id] = resource{
			fields: map[string]any{"exists": true, "relationType": p.RelationType}, ends: []uuid.UUID{source, target},
		}
	}
	applyNaivePatch(w[id], p.Properties)
	return w, ""
}

// checkEffects compares the effects of upserts with the snapshots before and after each action.
func (h *history) checkEffects(actions []graph.Action, copies []snapshot, results []graph.Result) {
	for i, a := range actions {
		want := graph.Effect("")
		switch a.Payload.(type) {
		case graph.UpsertNode, graph.UpsertEdge:
			switch {
			case len(copies[i+1]) > len(copies[i]):
				want = graph.Created
			case reflect.DeepEqual(copies[i], copies[i+1]):
				want = graph.Unchanged
			default:
				want = graph.Updated
			}
		}
		require.Equal(h.t, want, results[i].Effect)
	}
}

// upsertKeys are keys that other commands of the history write, too. others are patches that
// change none of them.
var upsertKeys = []struct {
	key    graph.NodeKey
	others []string
}{
	{graph.NodeKey{EntityType: graph.Concept, Property: "a", Value: "1"}, []string{``, `{}`, `{"b":"x"}`, `{"b":null}`}},
	{graph.NodeKey{EntityType: graph.Actor, Property: "a", Value: "2"}, []string{`{"a":2}`, `{"b":{"c":1}}`}},
	{graph.NodeKey{EntityType: graph.Concept, Property: "b", Value: `"x"`}, []string{``, `{"a":1}`, `{"a":null,"b":"x"}`}},
}

func (h *history) drawKey() (graph.NodeKey, string) {
	drawn := upsertKeys[h.roll(len(upsertKeys), "key")]
	return drawn.key, drawn.others[h.roll(len(drawn.others), "others")]
}

func (h *history) drawUpsertNode(id uuid.UUID, name string) graph.UpsertNode {
	key, patch := h.drawKey()
	p := graph.UpsertNode{ID: id, Key: key, ClearDescription: h.roll(8, "clear") == 0}
	if patch != "" {
		p.Properties = []byte(patch)
	}
	if h.roll(2, "named") == 0 {
		p.Name = &name
	}
	if h.roll(4, "described") == 0 {
		p.Description = &name
	}
	return p
}

// drawRef draws a reference to a node, by its id or by a key.
func (h *history) drawRef() graph.NodeRef {
	if h.roll(3, "by key") == 0 {
		key, _ := h.drawKey()
		return graph.NodeRef{Key: &key}
	}
	return graph.NodeRef{ID: h.node()}
}
