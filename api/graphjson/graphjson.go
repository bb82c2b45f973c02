// Package graphjson defines the JSON form of the graph: nodes, edges, results of commands, and
// changes. Reads, commands, history, events and export all use it, so that a resource has the
// same form everywhere. It contains no logic and does not access stores.
package graphjson

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// Node is the JSON form of a node. Times are in UTC, in microseconds.
type Node struct {
	ID          uuid.UUID      `json:"id"`
	Name        string         `json:"name"`
	EntityType  string         `json:"entityType"`
	Description *string        `json:"description"` // null: none
	Properties  jsontext.Value `json:"properties"`  // an object
	CreatedAt   time.Time      `json:"createdAt"`
	UpdatedAt   time.Time      `json:"updatedAt"`
	Version     int64          `json:"version"`
	Deleted     bool           `json:"deleted,omitzero"` // absent when false
}

// Edge is the JSON form of an edge.
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

// OfNode converts a node.
func OfNode(n *graph.Node) Node {
	return Node{
		ID: n.ID, Name: n.Name, EntityType: string(n.EntityType), Description: n.Description,
		Properties: n.Properties.Encode(),
		CreatedAt:  n.CreatedAt.UTC(), UpdatedAt: n.UpdatedAt.UTC(), Version: n.Version, Deleted: n.Deleted,
	}
}

// OfEdge converts an edge.
func OfEdge(e *graph.Edge) Edge {
	return Edge{
		ID: e.ID, SourceID: e.SourceID, TargetID: e.TargetID, RelationType: e.RelationType, Properties: e.Properties.Encode(),
		CreatedAt: e.CreatedAt.UTC(), UpdatedAt: e.UpdatedAt.UTC(), Version: e.Version, Deleted: e.Deleted,
	}
}

// OfNodes converts nodes, in their order. The result is never nil.
func OfNodes(nodes []graph.Node) []Node {
	shown := make([]Node, len(nodes))
	for i := range nodes {
		shown[i] = OfNode(&nodes[i])
	}
	return shown
}

// OfEdges converts edges, in their order. The result is never nil.
func OfEdges(edges []graph.Edge) []Edge {
	shown := make([]Edge, len(edges))
	for i := range edges {
		shown[i] = OfEdge(&edges[i])
	}
	return shown
}

// RecordedNode converts a node of a record or of the journal; nil for nil.
func RecordedNode(n *eventsv1.Node) *Node {
	if n == nil {
		return nil
	}
	life := n.GetLife()
	return &Node{
		ID: id(n.GetId()), Name: n.GetName(), EntityType: n.GetEntityType(), Description: n.Description,
		Properties: properties(n.GetProperties()),
		CreatedAt:  timeOf(life.GetCreatedAtUs()), UpdatedAt: timeOf(life.GetUpdatedAtUs()),
		Version: life.GetVersion(), Deleted: life.GetDeleted(),
	}
}

// RecordedEdge converts an edge of a record or of the journal; nil for nil.
func RecordedEdge(e *eventsv1.Edge) *Edge {
	if e == nil {
		return nil
	}
	life := e.GetLife()
	return &Edge{
		ID: id(e.GetId()), SourceID: id(e.GetSourceId()), TargetID: id(e.GetTargetId()), RelationType: e.GetRelationType(),
		Properties: properties(e.GetProperties()),
		CreatedAt:  timeOf(life.GetCreatedAtUs()), UpdatedAt: timeOf(life.GetUpdatedAtUs()),
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

func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

func properties(raw []byte) jsontext.Value {
	if len(raw) == 0 {
		return jsontext.Value("{}")
	}
	return raw
}
