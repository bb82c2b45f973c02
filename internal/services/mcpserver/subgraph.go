package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

var countsTool = &mcp.Tool{
	Name: "counts", Title: "Count nodes and edges", Annotations: readOnly(),
	Description: "Count the nodes of each entity type and the edges of each relation type, the most frequent types first.",
}

type countsInput struct {
	Limit int `json:"limit,omitempty" jsonschema:"number of types of each kind, default 10, at most 50; the others are counted together"`
}

func (c *client) counts(ctx context.Context, in countsInput) (any, error) {
	query := url.Values{}
	setInt(query, "limit", clampLimit(in.Limit))
	r, err := c.get(ctx, "/api/queries/counts", query)
	return itemAnswer(r, err, uncited)
}

var subgraphTool = &mcp.Tool{
	Name: "subgraph", Title: "Read a part of the graph", Annotations: readOnly(),
	Description: "Read the nodes around some nodes, nearest first, and all edges between them: how they are connected " +
		"with each other. Nodes have their names and types only; the tool node reads the rest.",
}

type subgraphInput struct {
	NodeIDs       []string `json:"nodeIds" jsonschema:"ids of the nodes to start at, 1 to 20"`
	Depth         *int     `json:"depth,omitempty" jsonschema:"maximum number of edges to a node, 0 (only the given nodes) to 3, default 1"`
	Direction     string   `json:"direction,omitempty" jsonschema:"follow edges: out, in or both (default)"`
	RelationTypes []string `json:"relationTypes,omitempty" jsonschema:"only edges of these types"`
	EntityTypes   []string `json:"entityTypes,omitempty" jsonschema:"only nodes of these types, besides the given ones"`
	Limit         int      `json:"limit,omitempty" jsonschema:"number of nodes, the given ones included, default 20, at most 50"`
	momentInput
}

// defaultSubgraph is the number of nodes of a subgraph: as many as can be given.
const defaultSubgraph = 20

func (in *subgraphInput) values() url.Values {
	query := url.Values{}
	addAll(query, "nodeId", in.NodeIDs)
	if in.Depth != nil {
		query.Set("depth", fmt.Sprint(*in.Depth))
	}
	setInt(query, "limit", clampLimit(cmp.Or(in.Limit, defaultSubgraph)))
	setText(query, "direction", in.Direction)
	addAll(query, "relationType", in.RelationTypes)
	addAll(query, "entityType", in.EntityTypes)
	in.addTo(query)
	return query
}

// briefNode and briefEdge are a node and an edge of a subgraph.
type briefNode struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	EntityType string `json:"entityType"`
}

type briefEdge struct {
	ID           string `json:"id"`
	SourceID     string `json:"sourceId"`
	TargetID     string `json:"targetId"`
	RelationType string `json:"relationType"`
}

func (c *client) subgraph(ctx context.Context, in subgraphInput) (any, error) {
	r, err := c.get(ctx, "/api/queries/subgraph", in.values())
	if err != nil {
		return nil, err
	}
	var found struct {
		Nodes     []struct{ Node briefNode }
		Edges     []briefEdge
		Truncated bool
	}
	if err := decode(r.Data, &found); err != nil {
		return nil, err
	}
	r.Meta.Truncated = found.Truncated
	a := newAnswer(r)
	nodes := make([]briefNode, len(found.Nodes))
	for i := range found.Nodes {
		nodes[i] = found.Nodes[i].Node
		nodes[i].Name = truncate.Bytes(nodes[i].Name, maxName)
		a.Citations = append(a.Citations, citation{
			ID: nodes[i].ID, Name: truncate.Bytes(nodes[i].Name, maxShortText), URI: nodeURI + nodes[i].ID,
		})
	}
	a.Result, err = encodeSubgraph(a, nodes, found.Edges)
	return a, err
}

// encodeSubgraph encodes the nodes, and as many edges as fit into an answer. A note has the number of the others.
func encodeSubgraph(a *answer, nodes []briefNode, edges []briefEdge) (json.RawMessage, error) {
	encoded, err := encode(nodes)
	if err != nil {
		return nil, err
	}
	size := len(encoded)
	fitting := make([]json.RawMessage, 0, len(edges))
	for i, e := range edges {
		e.RelationType = truncate.Bytes(e.RelationType, maxName)
		text, err := encode(e)
		if err != nil {
			return nil, err
		}
		if size += len(text); size > maxAnswerBytes {
			a.Notes = append(a.Notes, fmt.Sprintf("%d more edges between these nodes are left out.", len(edges)-i))
			break
		}
		fitting = append(fitting, text)
	}
	return encode(map[string]any{"nodes": json.RawMessage(encoded), "edges": fitting})
}
