package mcpserver

import (
	"bytes"
	"context"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const savedQueriesPath = "/api/rag/queries"

var savedQueriesTool = &mcp.Tool{
	Name: "saved_queries", Title: "List saved queries", Annotations: readOnly(),
	Description: "List the requests of searches and answers that were saved under names, with their descriptions. " +
		"Run one with run_saved_query.",
}

type savedQueriesInput struct {
	Name   string `json:"name,omitempty" jsonschema:"only those whose name contains this text"`
	Kind   string `json:"kind,omitempty" jsonschema:"only those of this kind: search, hybrid-search or answer"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of saved queries, default 10, at most 50"`
	Offset int    `json:"offset,omitempty" jsonschema:"number of saved queries to skip"`
}

func (c *client) savedQueries(ctx context.Context, in savedQueriesInput) (any, error) {
	query := pageQuery(in.Limit, in.Offset)
	query.Set("sort", "name")
	setText(query, "name", in.Name)
	setText(query, "kind", in.Kind)
	return c.list(ctx, savedQueriesPath, query, in.Offset, uncited)
}

var runSavedQueryTool = &mcp.Tool{
	Name: "run_saved_query", Title: "Run a saved query", Annotations: readOnly(),
	Description: "Run a saved query. Returns what search, hybrid_search or answer return, by the kind of the query. The " +
		"other arguments replace what was saved.",
}

type runSavedQueryInput struct {
	ID     string `json:"id" jsonschema:"id of the saved query"`
	Query  string `json:"query,omitempty" jsonschema:"what to look for, instead of the saved text"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of results, at most 50"`
	Offset *int   `json:"offset,omitempty" jsonschema:"number of results to skip; not for answers"`
	documentFilter
}

func (c *client) runSavedQuery(ctx context.Context, in runSavedQueryInput) (any, error) {
	body := map[string]any{}
	in.addFilter(body)
	if in.Query != "" {
		body["query"] = in.Query
	}
	if in.Limit != 0 {
		body["limit"] = clampLimit(in.Limit)
	}
	if in.Offset != nil {
		body["offset"] = *in.Offset
	}
	r, err := c.post(ctx, savedQueriesPath+"/"+url.PathEscape(in.ID)+"/run", body, nil)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(r.Data, []byte("{")) {
		return quotedAnswer(r, nil)
	}
	return listAnswer(r, r.Meta.Offset, citeNode) // the offset may be saved
}
