package mcpserver

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var pathsTool = &mcp.Tool{
	Name: "paths", Title: "Find paths between nodes", Annotations: readOnly(),
	Description: "Find how two nodes are connected: the shortest paths, or with weight the cheapest, with the nodes and " +
		"edges of each in order.",
}

type pathsInput struct {
	From          string   `json:"from" jsonschema:"id of the node where paths begin"`
	To            string   `json:"to" jsonschema:"id of the node where paths end"`
	MaxDepth      int      `json:"maxDepth,omitempty" jsonschema:"maximum number of edges of a path, 1 to 10, default 6"`
	Direction     string   `json:"direction,omitempty" jsonschema:"follow edges: out, in or both (default)"`
	RelationTypes []string `json:"relationTypes,omitempty" jsonschema:"follow only edges of these types"`
	EntityTypes   []string `json:"entityTypes,omitempty" jsonschema:"only through nodes of these types"`
	Weight        string   `json:"weight,omitempty" jsonschema:"name of the numeric property of edges that is their cost"`
	Limit         int      `json:"limit,omitempty" jsonschema:"number of paths, default 1, at most 20"`
	Offset        int      `json:"offset,omitempty" jsonschema:"number of paths to skip, if an answer has next"`
}

// paths finds paths. The route returns all of them, so the tool skips those that were answered before.
func (c *client) paths(ctx context.Context, in pathsInput) (any, error) {
	query := url.Values{"from": {in.From}, "to": {in.To}}
	setInt(query, "maxDepth", in.MaxDepth)
	setInt(query, "limit", in.Limit)
	setText(query, "direction", in.Direction)
	setText(query, "weight", in.Weight)
	addAll(query, "relationType", in.RelationTypes)
	addAll(query, "entityType", in.EntityTypes)
	r, err := c.get(ctx, "/api/queries/paths", query)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := decode(r.Data, &list); err != nil {
		return nil, err
	}
	offset, err := r.skip(list, max(in.Offset, 0))
	if err != nil {
		return nil, err
	}
	return listAnswer(r, offset, citePath)
}

// citePath returns citations of the nodes of a path.
func citePath(item map[string]any) (list []citation) {
	nodes, _ := item["nodes"].([]any)
	for _, node := range nodes {
		list = append(list, nodeCitation(node)...)
	}
	return list
}
