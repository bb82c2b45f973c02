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

// State is the desired state of an owner's part of the graph. Nodes are by key and have no id; a property that is null
// is to be absent. Edges are between Nodes.
type State struct {
	Nodes map[string]client.NewNode
	Edges map[Edge]bool
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
	edges map[Edge]uuid.UUID
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
	g, keys := graph{map[string]client.NewNode{}, map[Edge]uuid.UUID{}}, map[uuid.UUID]string{}
	filter := client.Filter{Properties: map[string]string{managedBy: s.owner}}
	err := s.server.EachNode(ctx, filter, func(n client.Node) error {
		var key string
		_ = json.Unmarshal(n.Properties[keyName], &key) // any value but a string is no key
		if _, duplicate := g.nodes[key]; duplicate {
			key = n.ID.String() // no desired node has this key, so it is deleted
		}
		keys[n.ID], g.nodes[key] = key, client.NewNode{
			ID: n.ID, Name: n.Name, EntityType: n.EntityType, Description: n.Description, Properties: n.Properties,
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = s.server.EachEdge(ctx, filter, func(e client.Edge) error {
		g.edges[Edge{keys[e.SourceID], keys[e.TargetID], e.RelationType}] = e.ID
		return nil
	})
	if err == nil {
		s.graph, s.readAt = g, time.Now()
	}
	return err
}

// diff returns the commands that make the desired state, and the graph after them.
func (s *Syncer) diff(desired State) (commands []client.Command, next graph) {
	next = graph{map[string]client.NewNode{}, map[Edge]uuid.UUID{}}
	add := func(kind string, payload any) {
		commands = append(commands, client.Command{Type: kind, Payload: payload})
	}
	for key, n := range desired.Nodes {
		next.nodes[key] = s.upsert(key, n, add)
	}
	for e := range desired.Edges {
		id, exists := s.graph.edges[e]
		if !exists {
			id = uuid.New()
			add(client.CreateEdge, client.NewEdge{
				ID: id, SourceID: next.nodes[e.Source].ID, TargetID: next.nodes[e.Target].ID, RelationType: e.Relation,
				Properties: client.Properties{managedBy: encode(s.owner)},
			})
		}
		next.edges[e] = id
	}
	for e, id := range s.graph.edges { // the edges of a node are deleted with it
		if _, ok := next.edges[e]; !ok && has(next.nodes, e.Source) && has(next.nodes, e.Target) {
			add(client.DeleteEdge, client.Resource{ID: id})
		}
	}
	for key, n := range s.graph.nodes {
		if !has(next.nodes, key) {
			add(client.DeleteNode, client.Resource{ID: n.ID})
		}
	}
	return commands, next
}

func has(nodes map[string]client.NewNode, key string) bool { _, ok := nodes[key]; return ok }

// upsert returns a desired node as it will be. It adds the command that creates or updates it, if one is necessary.
func (s *Syncer) upsert(key string, n client.NewNode, add func(kind string, payload any)) client.NewNode {
	old, exists := s.graph.nodes[key]
	patch := client.Properties{managedBy: encode(s.owner), keyName: encode(key)}
	maps.Copy(patch, n.Properties)
	n.ID, n.Properties = old.ID, client.Properties{}
	maps.Copy(n.Properties, old.Properties)
	maps.Copy(n.Properties, patch)
	maps.DeleteFunc(n.Properties, func(_ string, value jsontext.Value) bool { return string(value) == "null" })
	if !exists {
		n.ID = uuid.New() // random, because the id of a deleted node cannot be used again
		add(client.CreateNode, n)
	} else if !slices.Equal(encode(old), encode(n)) {
		add(client.UpdateNode, client.NodePatch{
			ID: n.ID, Name: &n.Name, EntityType: &n.EntityType, Description: n.Description, Properties: patch,
		})
	}
	return n
}

// encode returns a property or a node in canonical JSON. The types that are used for properties can be encoded.
func encode(value any) jsontext.Value {
	text, err := json.Marshal(value)
	raw := jsontext.Value(text)
	if err = errors.Join(err, raw.Canonicalize()); err != nil {
		panic("a property cannot be encoded: " + err.Error())
	}
	return raw
}
