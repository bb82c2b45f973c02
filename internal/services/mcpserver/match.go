package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMatches is the maximum number of matches of the route.
const maxMatches = 500

var matchTool = &mcp.Tool{
	Name: "match_pattern", Title: "Match a pattern", Annotations: readOnly(),
	Description: "Find the parts of the graph that have a shape: named nodes with conditions, and edges between them. " +
		"Returns the nodes of each match, or with return the number of matches by these nodes.",
}

type matchInput struct {
	Nodes  map[string]matchNode `json:"nodes" jsonschema:"1 to 8 nodes by name, with the conditions that each meets"`
	Edges  []matchEdge          `json:"edges,omitempty" jsonschema:"edges between the nodes; they must connect all of them"`
	Return []string             `json:"return,omitempty" jsonschema:"count the matches by the nodes with these names"`
	Limit  int                  `json:"limit,omitempty" jsonschema:"number of matches, default 10, at most 50"`
	Offset int                  `json:"offset,omitempty" jsonschema:"number of matches to skip, if an answer has next"`
}

type matchNode struct {
	NodeIDs     []string `json:"nodeIds,omitempty" jsonschema:"one of these nodes"`
	EntityTypes []string `json:"entityTypes,omitempty" jsonschema:"of these types: concept, object, process, actor"`
	Name        string   `json:"name,omitempty" jsonschema:"a part of the name"`
	propertyFilter
}

type matchEdge struct {
	From          string   `json:"from" jsonschema:"name of a node of the pattern"`
	To            string   `json:"to" jsonschema:"name of a node of the pattern"`
	RelationTypes []string `json:"relationTypes,omitempty" jsonschema:"only edges of these types"`
	Direction     string   `json:"direction,omitempty" jsonschema:"out (default), in or both"`
	MinLength     int      `json:"minLength,omitempty" jsonschema:"minimum number of edges between the nodes, default 1"`
	MaxLength     int      `json:"maxLength,omitempty" jsonschema:"maximum number of edges, at most 6, default minLength"`
	Absent        bool     `json:"absent,omitempty" jsonschema:"there is no such edge"`
}

// match matches a pattern. The route returns all matches, so the tool skips those that were answered before.
func (c *client) match(ctx context.Context, in matchInput) (any, error) {
	offset := max(in.Offset, 0)
	in.Limit, in.Offset = min(clampLimit(in.Limit)+offset, maxMatches), 0
	r, err := c.post(ctx, "/api/queries/patterns", in, nil)
	if err != nil {
		return nil, err
	}
	var found struct {
		Matches   []json.RawMessage `json:"matches"`
		Nodes     []map[string]any  `json:"nodes"`
		Total     int64             `json:"total"`
		Truncated bool              `json:"truncated"`
	}
	if err := decode(r.Data, &found); err != nil {
		return nil, err
	}
	if offset, err = r.skip(found.Matches, offset); err != nil {
		return nil, err
	}
	r.Meta.Total, r.Meta.Truncated = &found.Total, found.Truncated
	r.Meta.HasMore = int64(len(found.Matches)) < min(found.Total, maxMatches)
	citations := map[string][]citation{}
	for _, node := range found.Nodes {
		if id, ok := node["id"].(string); ok {
			citations[id] = nodeCitation(node)
		}
	}
	return listAnswer(r, offset, func(match map[string]any) (list []citation) {
		nodes, _ := match["nodes"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			if id, ok := nodes[name].(string); ok {
				list = append(list, citations[id]...)
			}
		}
		return list
	})
}
