// Package hostgraph represents a machine as a part of a workspace's graph and keeps that part up to date, through the
// public API. [Host] and [Weather] return the desired state for an inventory and for the weather stations; a [Syncer]
// creates, updates and deletes the nodes and edges that differ.
//
// A syncer owns the nodes and edges that carry its owner in the property managedBy and changes nothing else, neither
// other nodes nor properties that it did not write. It finds its nodes by their key, so that a restart creates no copy.
package hostgraph

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
)

// State is the desired state of a part of the graph.
type State struct {
	Nodes []Node
	Edges []Edge // between Nodes
	// Complete names the kinds of which the state has all nodes: others of these kinds are deleted, and so are edges
	// that begin at one. Nodes of other kinds stay.
	Complete map[string]bool
}

// Node is the desired state of a node.
type Node struct {
	Key         string // identifies it; not empty
	Kind        string
	Name        string
	EntityType  string
	Description string
	// Properties are strings, numbers, booleans or lists of them; nil: absent.
	Properties map[string]any
}

// Edge is a desired edge. There is at most one of a relation between two nodes.
type Edge struct {
	Source, Target string // keys
	Relation       string
}

// The properties that a syncer adds.
const (
	managedBy = "managedBy" // the owner, on nodes and edges
	keyName   = "key"
	kindName  = "kind"
)

// observed is the last known state of an owner's part of the graph.
type observed struct {
	nodes      map[string]client.Node // by key
	edges      map[link]uuid.UUID
	duplicates []uuid.UUID // further nodes with a key in nodes
}

type link struct {
	source, target uuid.UUID
	relation       string
}

func newObserved() *observed {
	return &observed{nodes: map[string]client.Node{}, edges: map[link]uuid.UUID{}}
}

func (o *observed) addNode(n client.Node) {
	key := textOf(n.Properties[keyName])
	if _, duplicate := o.nodes[key]; duplicate {
		o.duplicates = append(o.duplicates, n.ID)
	} else if key != "" {
		o.nodes[key] = n
	}
}

// step is one command and what it changes in the observed state.
type step struct {
	command client.Command
	apply   func(*observed)
}

// diff returns the commands that make the observed state equal to the desired one: first deletions, then nodes, then
// edges. newID returns the id of a new node or edge by its name.
func diff(s State, o *observed, owner string, newID func(string) uuid.UUID) []step {
	ids := make(map[string]uuid.UUID, len(s.Nodes))
	var nodes, edges []step
	for _, n := range s.Nodes {
		if _, duplicate := ids[n.Key]; duplicate {
			continue
		}
		current, exists := o.nodes[n.Key]
		if !exists {
			current = client.Node{ID: newID(n.Key)}
		}
		ids[n.Key] = current.ID
		if st, changed := upsert(n, current, exists, owner); changed {
			nodes = append(nodes, st)
		}
	}
	wanted := map[link]bool{}
	for _, e := range s.Edges {
		source, target := ids[e.Source], ids[e.Target]
		l := link{source, target, e.Relation}
		if source == uuid.Nil || target == uuid.Nil || wanted[l] {
			continue
		}
		wanted[l] = true
		if _, exists := o.edges[l]; exists {
			continue
		}
		id := newID(e.Source + "\x00" + e.Relation + "\x00" + e.Target)
		payload := client.NewEdge{
			ID: id, SourceID: source, TargetID: target, RelationType: e.Relation,
			Properties: client.Properties{managedBy: encode(owner)},
		}
		edges = append(edges, step{
			client.Command{Type: client.CreateEdge, Payload: payload}, func(o *observed) { o.edges[l] = id },
		})
	}
	return slices.Concat(deletions(s, o, ids, wanted), nodes, edges)
}

// upsert returns the command that creates or updates a node, or false if the node is up to date.
func upsert(n Node, current client.Node, exists bool, owner string) (step, bool) {
	desired := client.Properties{managedBy: encode(owner), keyName: encode(n.Key), kindName: encode(n.Kind)}
	for name, value := range n.Properties {
		desired[name] = encode(value)
	}
	patch := client.NodePatch{ID: current.ID, Properties: client.Properties{}}
	after := current
	after.Properties = maps.Clone(current.Properties)
	if after.Properties == nil {
		after.Properties = client.Properties{}
	}
	for name, value := range desired {
		old, has := current.Properties[name]
		switch absent := string(value) == "null"; {
		case absent && has:
			delete(after.Properties, name)
		case absent || has && equalJSON(old, value):
			continue
		default:
			after.Properties[name] = value
		}
		patch.Properties[name] = value
	}
	description := ""
	if current.Description != nil {
		description = *current.Description
	}
	for _, field := range []struct {
		patch         **string
		current, want string
	}{
		{&patch.Name, current.Name, n.Name}, {&patch.EntityType, current.EntityType, n.EntityType},
		{&patch.Description, description, n.Description},
	} {
		if field.current != field.want {
			*field.patch = &field.want
		}
	}
	after.Name, after.EntityType, after.Description = n.Name, n.EntityType, &n.Description
	apply := func(o *observed) { o.nodes[n.Key] = after }
	if !exists {
		return step{client.Command{Type: client.CreateNode, Payload: client.NewNode{
			ID: current.ID, Name: n.Name, EntityType: n.EntityType, Description: &n.Description, Properties: after.Properties,
		}}, apply}, true
	}
	changed := len(patch.Properties) > 0 || patch.Name != nil || patch.EntityType != nil || patch.Description != nil
	return step{client.Command{Type: client.UpdateNode, Payload: patch}, apply}, changed
}

// deletions returns the deletions of edges and nodes; a node's edges are deleted with it.
func deletions(s State, o *observed, ids map[string]uuid.UUID, wanted map[link]bool) (steps []step) {
	deleted, complete := map[uuid.UUID]string{}, map[uuid.UUID]bool{}
	for _, id := range o.duplicates {
		deleted[id] = ""
	}
	for key, n := range o.nodes {
		complete[n.ID] = s.Complete[textOf(n.Properties[kindName])]
		if _, desired := ids[key]; !desired && complete[n.ID] {
			deleted[n.ID] = key
		}
	}
	deletion := func(kind string, id uuid.UUID, apply func(*observed)) {
		steps = append(steps, step{client.Command{Type: kind, Payload: client.Resource{ID: id}}, apply})
	}
	for l, id := range o.edges {
		_, source := deleted[l.source]
		_, target := deleted[l.target]
		if !wanted[l] && complete[l.source] && !source && !target {
			deletion(client.DeleteEdge, id, func(o *observed) { delete(o.edges, l) })
		}
	}
	for id, key := range deleted {
		deletion(client.DeleteNode, id, func(o *observed) {
			delete(o.nodes, key)
			o.duplicates = slices.DeleteFunc(o.duplicates, func(duplicate uuid.UUID) bool { return duplicate == id })
			maps.DeleteFunc(o.edges, func(l link, _ uuid.UUID) bool { return l.source == id || l.target == id })
		})
	}
	slices.SortFunc(steps, func(a, b step) int { // deterministic order; edges first
		x, y := a.command.Payload.(client.Resource).ID, b.command.Payload.(client.Resource).ID
		if a.command.Type != b.command.Type {
			return bytes.Compare([]byte(a.command.Type), []byte(b.command.Type))
		}
		return bytes.Compare(x[:], y[:])
	})
	return steps
}

func textOf(value jsontext.Value) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

// encode returns a property in JSON. The types that Properties allows can always be encoded.
func encode(value any) jsontext.Value {
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		panic("a property cannot be encoded: " + err.Error())
	}
	return raw
}

// equalJSON reports whether two JSON values are equal, in whatever notation.
func equalJSON(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
}
