// Package graphjson is how the graph looks as JSON: its nodes and edges, what came
// of a command, and its changes. Everything that shows them (reads, commands,
// history, events, export) does it through here, so that a resource looks the same
// wherever it is seen. It decides nothing and knows no store.
package graphjson

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// Node is a node as the interface shows it. Times are UTC, to the microsecond.
type Node struct {
	ID          uuid.UUID      `json:"id"`
	Name        string         `json:"name"`
	EntityType  string         `json:"entityType"`
	Description *string        `json:"description"` // null: none
	Properties  jsontext.Value `json:"properties"`  // an object
	CreatedAt   time.Time      `json:"createdAt"`
	UpdatedAt   time.Time      `json:"updatedAt"`
	Version     int64          `json:"version"`
	Deleted     bool           `json:"deleted,omitzero"` // shown only when it is true
}

// Edge is an edge as the interface shows it.
type Edge struct {
	ID           uuid.UUID      `json:"id"`
	SourceID     uuid.UUID      `json:"sourceId"`
	TargetID     uuid.UUID      `json:"targetId"`
	RelationType string         `json:"relationType"`
	Properties   jsontext.Value `json:"properties"`
	CreatedAt    time.Time      `json:"createdAt"`
	UpdatedAt    time.Time      `json:"updatedAt"`
	Version      int64          `json:"version"`
	Deleted      bool           `json:"deleted,omitzero"`
}

// OfNode shows a node.
func OfNode(n *graph.Node) Node {
	return Node{
		ID: n.ID, Name: n.Name, EntityType: string(n.EntityType), Description: n.Description,
		Properties: n.Properties.Encode(),
		CreatedAt:  n.CreatedAt.UTC(), UpdatedAt: n.UpdatedAt.UTC(), Version: n.Version, Deleted: n.Deleted,
	}
}

// OfEdge shows an edge.
func OfEdge(e *graph.Edge) Edge {
	return Edge{
		ID: e.ID, SourceID: e.SourceID, TargetID: e.TargetID, RelationType: e.RelationType, Properties: e.Properties.Encode(),
		CreatedAt: e.CreatedAt.UTC(), UpdatedAt: e.UpdatedAt.UTC(), Version: e.Version, Deleted: e.Deleted,
	}
}

// OfNodes shows nodes in their order, never nil.
func OfNodes(nodes []graph.Node) []Node {
	shown := make([]Node, len(nodes))
	for i := range nodes {
		shown[i] = OfNode(&nodes[i])
	}
	return shown
}

// OfEdges shows edges in their order, never nil.
func OfEdges(edges []graph.Edge) []Edge {
	shown := make([]Edge, len(edges))
	for i := range edges {
		shown[i] = OfEdge(&edges[i])
	}
	return shown
}

// RecordedNode shows a node of a record or of the journal; nil for nil.
func RecordedNode(n *eventsv1.Node) *Node {
	if n == nil {
		return nil
	}
	life := n.GetLife()
	return &Node{
		ID: id(n.GetId()), Name: n.GetName(), EntityType: n.GetEntityType(), Description: n.Description,
		Properties: properties(n.GetProperties()), CreatedAt: at(life.GetCreatedAtUs()), UpdatedAt: at(life.GetUpdatedAtUs()),
		Version: life.GetVersion(), Deleted: life.GetDeleted(),
	}
}

// RecordedEdge shows an edge of a record or of the journal; nil for nil.
func RecordedEdge(e *eventsv1.Edge) *Edge {
	if e == nil {
		return nil
	}
	life := e.GetLife()
	return &Edge{
		ID: id(e.GetId()), SourceID: id(e.GetSourceId()), TargetID: id(e.GetTargetId()), RelationType: e.GetRelationType(),
		Properties: properties(e.GetProperties()), CreatedAt: at(life.GetCreatedAtUs()), UpdatedAt: at(life.GetUpdatedAtUs()),
		Version: life.GetVersion(), Deleted: life.GetDeleted(),
	}
}

func id(raw []byte) (id uuid.UUID) {
	copy(id[:], raw)
	return id
}

func ids(raw [][]byte) []uuid.UUID {
	list := make([]uuid.UUID, len(raw))
	for i := range raw {
		list[i] = id(raw[i])
	}
	return list
}

func at(us int64) time.Time { return time.UnixMicro(us).UTC() }

func properties(raw []byte) jsontext.Value {
	if len(raw) == 0 {
		return jsontext.Value("{}")
	}
	return raw
}
