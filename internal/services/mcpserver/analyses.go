package mcpserver

import (
	"context"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const analysesPath = "/api/analyses"

var analyzeTool = &mcp.Tool{
	Name: "analyze_graph", Title: "Analyze the graph",
	Description: "Start an analysis of the whole graph, a job: degree, pagerank (which nodes are important), components " +
		"or communities (which nodes belong together). Returns its id; read its state and result with analysis. With " +
		"property, the value of each node is written to this property.",
}

type analyzeInput struct {
	Algorithm     string   `json:"algorithm" jsonschema:"degree, pagerank, components or communities"`
	EntityTypes   []string `json:"entityTypes,omitempty" jsonschema:"only nodes of these types: concept, object, process, actor"`
	RelationTypes []string `json:"relationTypes,omitempty" jsonschema:"only edges of these types"`
	Weight        string   `json:"weight,omitempty" jsonschema:"name of the numeric property of edges that is their weight"`
	Direction     string   `json:"direction,omitempty" jsonschema:"edges that count or are followed: out, in or both"`
	Damping       *float64 `json:"damping,omitempty" jsonschema:"probability that pagerank follows an edge, default 0.85"`
	Property      string   `json:"property,omitempty" jsonschema:"write the values to this property of the nodes"`
}

func (c *client) analyze(ctx context.Context, in analyzeInput) (any, error) {
	r, err := c.post(ctx, analysesPath, in, nil)
	return itemAnswer(r, err, uncited)
}

var analysesTool = &mcp.Tool{
	Name: "analyses", Title: "List analyses", Annotations: readOnly(),
	Description: "List the analyses of the graph, the newest first, with their states and without their results.",
}

type analysesInput struct {
	Limit  int `json:"limit,omitempty" jsonschema:"number of analyses, default 10, at most 50"`
	Offset int `json:"offset,omitempty" jsonschema:"number of analyses to skip"`
}

func (c *client) analyses(ctx context.Context, in analysesInput) (any, error) {
	return c.list(ctx, analysesPath, pageQuery(in.Limit, in.Offset), in.Offset, uncited)
}

var analysisTool = &mcp.Tool{
	Name: "analysis", Title: "Read an analysis", Annotations: readOnly(),
	Description: "Read the state of an analysis, and when it is done the 100 nodes with the highest values or the 100 " +
		"largest groups, each with one of its nodes.",
}

type analysisInput struct {
	ID string `json:"id" jsonschema:"id of the analysis"`
}

func (c *client) analysis(ctx context.Context, in analysisInput) (any, error) {
	r, err := c.get(ctx, analysesPath+"/"+url.PathEscape(in.ID), nil)
	return itemAnswer(r, err, citeAnalyzed)
}

// citeAnalyzed returns citations of the nodes in the result of an analysis.
func citeAnalyzed(job map[string]any) (nodes []citation) {
	result, _ := job["result"].(map[string]any)
	for _, list := range []string{"top", "groups"} {
		items, _ := result[list].([]any)
		for _, item := range items[:min(len(items), defaultLimit)] {
			found, _ := item.(map[string]any)
			nodes = append(nodes, nodeCitation(map[string]any{"id": found["nodeId"]})...)
		}
	}
	return nodes
}
