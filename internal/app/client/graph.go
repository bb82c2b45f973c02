package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

const (
	nodesPath = "/api/queries/nodes"
	edgesPath = "/api/queries/edges"
)

// Properties are the custom attributes of a node or an edge, each as JSON.
type Properties map[string]jsontext.Value

// Node is an entity of the graph.
type Node struct {
	ID          uuid.UUID  `json:"id"`
	Name        string     `json:"name"`
	EntityType  string     `json:"entityType"`
	Description *string    `json:"description"`
	Properties  Properties `json:"properties"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	Version     int64      `json:"version"`
}

// Edge is a relation between two nodes.
type Edge struct {
	ID           uuid.UUID  `json:"id"`
	SourceID     uuid.UUID  `json:"sourceId"`
	TargetID     uuid.UUID  `json:"targetId"`
	RelationType string     `json:"relationType"`
	Properties   Properties `json:"properties"`
	CreatedAt    time.Time  `json:"createdAt"`
	UpdatedAt    time.Time  `json:"updatedAt"`
	Version      int64      `json:"version"`
}

// Filter selects nodes or edges. Zero fields do not filter.
type Filter struct {
	IDs        []uuid.UUID       // at most 100
	Properties map[string]string // equal to a string, or to a number or boolean in JSON
	EntityType string            // nodes
	Relation   string            // edges
}

func (f Filter) values() url.Values {
	v := url.Values{"limit": {strconv.Itoa(maxPageSize)}}
	if len(f.IDs) > 0 {
		texts := make([]string, len(f.IDs))
		for i, id := range f.IDs {
			texts[i] = id.String()
		}
		v.Set("ids", strings.Join(texts, ","))
	}
	for name, value := range f.Properties {
		v.Set("property."+name, value)
	}
	if f.EntityType != "" {
		v.Set("entityType", f.EntityType)
	}
	if f.Relation != "" {
		v.Set("relationType", f.Relation)
	}
	return v
}

// Node reads a node. The error is fault.NotFound if it does not exist.
func (c *Client) Node(ctx context.Context, id uuid.UUID) (Node, error) {
	answer, err := do[Node](ctx, c, call{method: http.MethodGet, path: nodesPath + "/" + id.String()})
	return answer.Data, err
}

// Edge reads an edge. The error is fault.NotFound if it does not exist.
func (c *Client) Edge(ctx context.Context, id uuid.UUID) (Edge, error) {
	answer, err := do[Edge](ctx, c, call{method: http.MethodGet, path: edgesPath + "/" + id.String()})
	return answer.Data, err
}

// EachNode calls visit with every node that matches the filter, oldest first, page by
// page, until visit returns an error.
func (c *Client) EachNode(ctx context.Context, f Filter, visit func(Node) error) error {
	return each(ctx, c, nodesPath, f.values(), visit)
}

// EachEdge calls visit with every edge that matches the filter, like [Client.EachNode].
func (c *Client) EachEdge(ctx context.Context, f Filter, visit func(Edge) error) error {
	return each(ctx, c, edgesPath, f.values(), visit)
}

// each reads a list by cursor, which concurrent writes do not disturb.
func each[T any](ctx context.Context, c *Client, path string, query url.Values, visit func(T) error) error {
	for {
		answer, err := do[[]T](ctx, c, call{method: http.MethodGet, path: path, query: query})
		if err != nil {
			return err
		}
		for _, item := range answer.Data {
			if err := visit(item); err != nil {
				return err
			}
		}
		if answer.Meta.NextCursor == "" {
			return nil
		}
		query.Set("cursor", answer.Meta.NextCursor)
	}
}

// Neighbor is a node that is reachable from another, and the edges that lead to it.
type Neighbor struct {
	Node  Node   `json:"node"`
	Depth int    `json:"depth"`
	Edges []Edge `json:"edges"`
}

// Neighbors reads the nodes up to depth edges away (1 to 3) from a node.
func (c *Client) Neighbors(ctx context.Context, id uuid.UUID, depth int) ([]Neighbor, error) {
	query := url.Values{"depth": {strconv.Itoa(depth)}, "limit": {strconv.Itoa(maxPageSize)}}
	answer, err := do[[]Neighbor](ctx, c, call{
		method: http.MethodGet, path: nodesPath + "/" + id.String() + "/neighbors", query: query,
	})
	return answer.Data, err
}
