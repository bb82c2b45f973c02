// Package hostgraph represents a machine as a part of a workspace's graph and keeps that part up to date, through the
// public API. [Host] and [Weather] return the desired state for an inventory and for the weather stations; a [Syncer]
// creates, updates and deletes the nodes and edges that differ.
//
// A syncer owns the nodes and edges that carry its owner in the property managedBy and changes nothing else, neither
// other nodes nor properties that it did not write. It finds its nodes by their key, so that a restart creates no copy.
package hostgraph

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
)

const (
	// readInterval is the time after which the graph is read again, because others may have changed it.
	readInterval = 5 * time.Minute
	// rereadInterval is that time after a refusal: the graph is not as it was read, or the workspace is full.
	rereadInterval = 30 * time.Second

	managedBy = "managedBy" // property with the owner, on nodes and edges
	keyName   = "key"       // property with a node's key
)

// State is the desired state of an owner's part of the graph.
type State struct {
	Nodes []Node
	Edges []Edge // between Nodes
}

// Node is the desired state of a node.
type Node struct {
	Key         string // identifies it; not empty
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

// server is the part of the client that a syncer uses.
type server interface {
	EachNode(ctx context.Context, f client.Filter, visit func(client.Node) error) error
	EachEdge(ctx context.Context, f client.Filter, visit func(client.Edge) error) error
	Batch(ctx context.Context, commands []client.Command, atomic bool) (client.BatchAnswer, error)
}

// Syncer keeps an owner's part of the graph equal to a desired state. It is not safe for concurrent use.
type Syncer struct {
	server server
	owner  string
	readAt time.Time              // when nodes and edges are to be read again; zero: now
	nodes  map[string]client.Node // by key, as last known
	edges  map[link]uuid.UUID
}

type link struct {
	source, target uuid.UUID
	relation       string
}

// NewSyncer creates a syncer for an owner. A later syncer with the same owner continues its work.
func NewSyncer(s *client.Client, owner string) *Syncer { return &Syncer{server: s, owner: owner} }

// Report is the result of a Sync.
type Report struct {
	Nodes, Edges int // that exist
	Applied      int // commands
	Refused      int // commands; the next Sync retries them
}

// ID returns the id of the node with a key, "" if there is none.
func (s *Syncer) ID(key string) string {
	if n, ok := s.nodes[key]; ok {
		return n.ID.String()
	}
	return ""
}

// Sync makes the graph equal to the desired state. If it fails, the changes until then remain and the next Sync
// continues.
func (s *Syncer) Sync(ctx context.Context, desired State) (r Report, err error) {
	defer func() { r.Nodes, r.Edges = len(s.nodes), len(s.edges) }()
	if time.Now().After(s.readAt) {
		if err := s.read(ctx); err != nil {
			return r, fmt.Errorf("reading the graph: %w", err)
		}
		s.readAt = time.Now().Add(readInterval)
	}
	for batch := range slices.Chunk(s.diff(desired), client.MaxBatch) {
		commands := make([]client.Command, len(batch))
		for i, step := range batch {
			commands[i] = step.command
		}
		answer, err := s.server.Batch(ctx, commands, false)
		if err != nil {
			s.readAt = time.Time{} // it may have been applied
			return r, fmt.Errorf("writing the graph: %w", err)
		}
		for i, result := range answer.Results {
			if result.Err != nil {
				r.Refused++
				continue
			}
			batch[i].applied()
			r.Applied++
		}
	}
	if soon := time.Now().Add(rereadInterval); r.Refused > 0 && soon.Before(s.readAt) {
		s.readAt = soon
	}
	return r, nil
}

// read reads the owner's part of the graph.
func (s *Syncer) read(ctx context.Context) error {
	nodes, edges := map[string]client.Node{}, map[link]uuid.UUID{}
	filter := client.Filter{Properties: map[string]string{managedBy: s.owner}}
	err := s.server.EachNode(ctx, filter, func(n client.Node) error {
		key := textOf(n.Properties[keyName])
		if _, duplicate := nodes[key]; duplicate {
			key = n.ID.String() // no desired node has this key, so it is deleted
		}
		nodes[key] = n
		return nil
	})
	if err != nil {
		return err
	}
	err = s.server.EachEdge(ctx, filter, func(e client.Edge) error {
		edges[link{e.SourceID, e.TargetID, e.RelationType}] = e.ID
		return nil
	})
	if err == nil {
		s.nodes, s.edges = nodes, edges
	}
	return err
}

// step is a command; applied is called when it was applied.
type step struct {
	command client.Command
	applied func()
}

// diff returns the commands that make the graph equal to the desired state: first deletions, then nodes, then edges.
func (s *Syncer) diff(desired State) []step {
	ids := make(map[string]uuid.UUID, len(desired.Nodes))
	kept := make(map[uuid.UUID]bool, len(desired.Nodes)) // nodes that exist and are desired
	var nodes, edges []step
	for _, n := range desired.Nodes {
		current, exists := s.nodes[n.Key]
		if !exists {
			// Random, because the id of a deleted node cannot be used again.
			current.ID = uuid.New()
		}
		ids[n.Key], kept[current.ID] = current.ID, exists
		nodes = append(nodes, s.upsert(n, current, exists)...)
	}
	wanted := make(map[link]bool, len(desired.Edges))
	for _, e := range desired.Edges {
		l := link{ids[e.Source], ids[e.Target], e.Relation}
		wanted[l] = true
		if _, exists := s.edges[l]; exists {
			continue
		}
		payload := client.NewEdge{
			ID: uuid.New(), SourceID: l.source, TargetID: l.target, RelationType: l.relation,
			Properties: client.Properties{managedBy: encode(s.owner)},
		}
		edges = append(edges, step{
			client.Command{Type: client.CreateEdge, Payload: payload}, func() { s.edges[l] = payload.ID },
		})
	}
	return slices.Concat(s.deletions(kept, wanted), nodes, edges)
}

// upsert returns the command that creates or updates a node, or none if the node is up to date.
func (s *Syncer) upsert(n Node, current client.Node, exists bool) []step {
	properties := client.Properties{}
	maps.Copy(properties, current.Properties)
	patch := client.Properties{managedBy: encode(s.owner), keyName: encode(n.Key)}
	for name, value := range n.Properties {
		patch[name] = encode(value)
	}
	maps.Copy(properties, patch)
	maps.DeleteFunc(properties, func(_ string, value jsontext.Value) bool { return string(value) == "null" })
	if exists && maps.EqualFunc(properties, current.Properties, equalJSON) && current.Name == n.Name &&
		current.EntityType == n.EntityType && current.Description != nil && *current.Description == n.Description {
		return nil
	}
	command := client.Command{Type: client.UpdateNode, Payload: client.NodePatch{
		ID: current.ID, Name: &n.Name, EntityType: &n.EntityType, Description: &n.Description, Properties: patch,
	}}
	if !exists {
		command = client.Command{Type: client.CreateNode, Payload: client.NewNode{
			ID: current.ID, Name: n.Name, EntityType: n.EntityType, Description: &n.Description, Properties: properties,
		}}
	}
	current.Name, current.EntityType, current.Description = n.Name, n.EntityType, &n.Description
	current.Properties = properties
	return []step{{command, func() { s.nodes[n.Key] = current }}}
}

// deletions returns the deletions of edges and nodes; a node's edges are deleted with it.
func (s *Syncer) deletions(kept map[uuid.UUID]bool, wanted map[link]bool) (steps []step) {
	deletion := func(kind string, id uuid.UUID, applied func()) {
		steps = append(steps, step{client.Command{Type: kind, Payload: client.Resource{ID: id}}, applied})
	}
	for l, id := range s.edges {
		if !wanted[l] && kept[l.source] && kept[l.target] {
			deletion(client.DeleteEdge, id, func() { delete(s.edges, l) })
		}
	}
	for key, n := range s.nodes {
		if !kept[n.ID] {
			deletion(client.DeleteNode, n.ID, func() {
				delete(s.nodes, key)
				maps.DeleteFunc(s.edges, func(l link, _ uuid.UUID) bool { return l.source == n.ID || l.target == n.ID })
			})
		}
	}
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
