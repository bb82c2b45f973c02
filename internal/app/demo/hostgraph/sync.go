// Package hostgraph keeps a machine's part of a workspace's graph up to date, through the public API. [Host] and
// [Weather] return its desired state; a [Syncer] creates, updates and deletes the nodes and edges that differ.
//
// A syncer owns the nodes and edges that carry its owner in the property managedBy and changes nothing else, neither
// other nodes nor properties that it did not write. It finds its nodes by their key, so that a restart creates no copy.
package hostgraph

import (
	"context"
	"errors"
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

	managedBy = "managedBy" // property with the owner, on nodes and edges
	keyName   = "key"       // property with a node's key
)

// State is the desired state of an owner's part of the graph.
type State struct {
	Nodes []Node
	Edges []Edge // between Nodes
}

// Node is the desired state of a node. Its key identifies it and is not empty. Properties are strings, numbers,
// booleans or lists of them; nil: absent.
type Node struct {
	Key, Name, EntityType, Description string
	Properties                         map[string]any
}

// Edge is a desired edge between the nodes of two keys. There is at most one of a relation.
type Edge struct{ Source, Target, Relation string }

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
	readAt time.Time // when the graph was read; zero: it has to be read
	graph  graph     // as last known
}

// graph is an owner's part of the graph.
type graph struct {
	nodes map[string]client.NewNode // by key
	edges map[link]uuid.UUID
}

type link struct {
	source, target uuid.UUID
	relation       string
}

// NewSyncer creates a syncer for an owner. A later syncer with the same owner continues its work.
func NewSyncer(s *client.Client, owner string) *Syncer { return &Syncer{server: s, owner: owner} }

// Report is the result of a Sync.
type Report struct {
	Nodes, Edges, Applied int // those that exist, and applied commands
}

// ID returns the id of the node with a key, "" if there is none.
func (s *Syncer) ID(key string) string {
	if n, ok := s.graph.nodes[key]; ok {
		return n.ID.String()
	}
	return ""
}

// Sync makes the graph equal to the desired state. If it fails, its changes remain and the next Sync continues.
func (s *Syncer) Sync(ctx context.Context, desired State) (r Report, err error) {
	defer func() { r.Nodes, r.Edges = len(s.graph.nodes), len(s.graph.edges) }()
	if time.Since(s.readAt) > readInterval {
		if err := s.read(ctx); err != nil {
			return r, fmt.Errorf("reading the graph: %w", err)
		}
	}
	read := s.readAt
	s.readAt = time.Time{} // until it is known that all commands were applied
	commands, next := s.diff(desired)
	for batch := range slices.Chunk(commands, client.MaxBatch) {
		answer, err := s.server.Batch(ctx, batch, false)
		for _, result := range answer.Results {
			if result.Err != nil {
				err = result.Err
				continue
			}
			r.Applied++
		}
		if err != nil {
			return r, fmt.Errorf("writing the graph: %w", err)
		}
	}
	s.graph, s.readAt = next, read
	return r, nil
}

// read reads the owner's part of the graph.
func (s *Syncer) read(ctx context.Context) error {
	g := graph{map[string]client.NewNode{}, map[link]uuid.UUID{}}
	filter := client.Filter{Properties: map[string]string{managedBy: s.owner}}
	err := s.server.EachNode(ctx, filter, func(n client.Node) error {
		key := textOf(n.Properties[keyName])
		if _, duplicate := g.nodes[key]; duplicate {
			key = n.ID.String() // no desired node has this key, so it is deleted
		}
		g.nodes[key] = client.NewNode{
			ID: n.ID, Name: n.Name, EntityType: n.EntityType, Description: n.Description, Properties: n.Properties,
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = s.server.EachEdge(ctx, filter, func(e client.Edge) error {
		g.edges[link{e.SourceID, e.TargetID, e.RelationType}] = e.ID
		return nil
	})
	if err == nil {
		s.graph, s.readAt = g, time.Now()
	}
	return err
}

// diff returns the commands that make the desired state: deletions, nodes, edges. It also returns the graph after them.
func (s *Syncer) diff(desired State) (commands []client.Command, next graph) {
	next = graph{map[string]client.NewNode{}, map[link]uuid.UUID{}}
	var creations []client.Command
	exist := map[uuid.UUID]bool{}
	for _, n := range desired.Nodes {
		node, changes := s.upsert(n)
		next.nodes[n.Key], exist[node.ID] = node, true
		creations = append(creations, changes...)
	}
	for _, e := range desired.Edges {
		l := link{next.nodes[e.Source].ID, next.nodes[e.Target].ID, e.Relation}
		id, exists := s.graph.edges[l]
		if !exists {
			id = uuid.New()
			creations = append(creations, client.Command{Type: client.CreateEdge, Payload: client.NewEdge{
				ID: id, SourceID: l.source, TargetID: l.target, RelationType: l.relation,
				Properties: client.Properties{managedBy: encode(s.owner)},
			}})
		}
		next.edges[l] = id
	}
	for l, id := range s.graph.edges {
		if _, stays := next.edges[l]; !stays && exist[l.source] && exist[l.target] { // otherwise its node is deleted
			commands = append(commands, client.Command{Type: client.DeleteEdge, Payload: client.Resource{ID: id}})
		}
	}
	for _, n := range s.graph.nodes {
		if !exist[n.ID] {
			commands = append(commands, client.Command{Type: client.DeleteNode, Payload: client.Resource{ID: n.ID}})
		}
	}
	return append(commands, creations...), next
}

// upsert returns a desired node as it will be, and the command that creates or updates it, or none if it is up to date.
func (s *Syncer) upsert(n Node) (client.NewNode, []client.Command) {
	old, exists := s.graph.nodes[n.Key]
	patch := client.Properties{managedBy: encode(s.owner), keyName: encode(n.Key)}
	for name, value := range n.Properties {
		patch[name] = encode(value)
	}
	node := client.NewNode{ID: old.ID, Name: n.Name, EntityType: n.EntityType, Description: &n.Description}
	node.Properties = client.Properties{}
	maps.Copy(node.Properties, old.Properties)
	maps.Copy(node.Properties, patch)
	maps.DeleteFunc(node.Properties, func(_ string, value jsontext.Value) bool { return string(value) == "null" })
	switch {
	case !exists:
		node.ID = uuid.New() // random, because the id of a deleted node cannot be used again
		return node, []client.Command{{Type: client.CreateNode, Payload: node}}
	case slices.Equal(encode(old), encode(node)):
		return node, nil
	}
	return node, []client.Command{{Type: client.UpdateNode, Payload: client.NodePatch{
		ID: node.ID, Name: &n.Name, EntityType: &n.EntityType, Description: &n.Description, Properties: patch,
	}}}
}

// textOf returns a string in JSON, "" for any other value.
func textOf(value jsontext.Value) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

// encode returns a property or a node in canonical JSON. The types that Properties allows can always be encoded.
func encode(value any) jsontext.Value {
	text, err := json.Marshal(value)
	raw := jsontext.Value(text)
	if err = errors.Join(err, raw.Canonicalize()); err != nil {
		panic("a property cannot be encoded: " + err.Error())
	}
	return raw
}
