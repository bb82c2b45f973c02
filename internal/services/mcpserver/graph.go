package mcpserver

import (
	"context"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

var searchTool = &mcp.Tool{
	Name: "search", Title: "Search nodes", Annotations: readOnly(),
	Description: "Find nodes of the graph by words and meaning. Returns nodes with a score from 0 to 1 and the part of " +
		"the text that matches best.",
}

type searchInput struct {
	Query       string   `json:"query" jsonschema:"what to look for, in natural language or words"`
	EntityTypes []string `json:"entityTypes,omitempty" jsonschema:"only nodes of these types: concept, object, process, actor"`
	MinScore    float64  `json:"minScore,omitempty" jsonschema:"only results with at least this score, 0 to 1"`
	Limit       int      `json:"limit,omitempty" jsonschema:"number of results, default 10, at most 50"`
	Offset      int      `json:"offset,omitempty" jsonschema:"number of results to skip"`
	Rerank      bool     `json:"rerank,omitempty" jsonschema:"order the best results again by a reranking model: slower; refused if the server has none"`
	propertyFilter
	documentFilter
}

func (in *searchInput) body() map[string]any {
	body := queryBody(in.Query, in.EntityTypes, in.MinScore, in.Limit)
	in.addProperties(body)
	in.addFilter(body)
	addRerank(body, in.Rerank)
	body["offset"] = in.Offset
	return body
}

// queryBody returns the fields of a body that all searches have.
func queryBody(query string, entityTypes []string, minScore float64, limit int) map[string]any {
	body := map[string]any{"query": query, "limit": clampLimit(limit)}
	if len(entityTypes) > 0 {
		body["entityTypes"] = entityTypes
	}
	if minScore != 0 {
		body["minScore"] = minScore
	}
	return body
}

// addRerank adds the field that enables reranking.
func addRerank(body map[string]any, rerank bool) {
	if rerank {
		body["rerank"] = map[string]any{}
	}
}

func citeNode(item map[string]any) []citation { return nodeCitation(item["node"]) }

func (c *client) search(ctx context.Context, in searchInput) (any, error) {
	return c.find(ctx, "/api/rag/search", in.body(), in.Offset)
}

// find searches nodes.
func (c *client) find(ctx context.Context, path string, body map[string]any, offset int) (any, error) {
	r, err := c.post(ctx, path, body, nil)
	if err != nil {
		return nil, err
	}
	return listAnswer(r, offset, citeNode)
}

var hybridTool = &mcp.Tool{
	Name: "hybrid_search", Title: "Search nodes by the graph", Annotations: readOnly(),
	Description: "Find nodes by words, meaning and the edges of the graph. Use it for questions about how things are " +
		"connected: results can contain nodes that match no word of the query. path has the edges from a matching node.",
}

type hybridInput struct {
	searchInput
	graphInput
}

// graphInput has the parameters of searches that follow edges.
type graphInput struct {
	Hops          *int     `json:"hops,omitempty" jsonschema:"number of edges to follow, 0 to 3, default 2"`
	RelationTypes []string `json:"relationTypes,omitempty" jsonschema:"follow only edges of these types"`
	Direction     string   `json:"direction,omitempty" jsonschema:"follow edges: out, in or both"`
	NodeIDs       []string `json:"nodeIds,omitempty" jsonschema:"start at these nodes, too"`
}

func (in *graphInput) addTo(body map[string]any) {
	if in.Hops != nil {
		body["hops"] = *in.Hops
	}
	if len(in.RelationTypes) > 0 {
		body["relationTypes"] = in.RelationTypes
	}
	if in.Direction != "" {
		body["direction"] = in.Direction
	}
	if len(in.NodeIDs) > 0 {
		body["nodeIds"] = in.NodeIDs
	}
}

func (c *client) hybridSearch(ctx context.Context, in hybridInput) (any, error) {
	body := in.body()
	in.addTo(body)
	return c.find(ctx, "/api/rag/hybrid-search", body, in.Offset)
}

var answerTool = &mcp.Tool{
	Name: "answer", Title: "Answer a question with sources", Annotations: readOnly(),
	Description: "Find the sentences in the texts of nodes and documents that answer a question. Returns the sentences " +
		"as they are stored, each with the node that it is from. The marks [1], [2] in answer are the citations in order.",
}

type answerInput struct {
	Query        string   `json:"query" jsonschema:"the question, in natural language"`
	MaxSentences int      `json:"maxSentences,omitempty" jsonschema:"number of sentences, 1 to 10, default 3"`
	EntityTypes  []string `json:"entityTypes,omitempty" jsonschema:"only nodes of these types: concept, object, process, actor"`
	MinScore     float64  `json:"minScore,omitempty" jsonschema:"read only results of the search with at least this score, 0 to 1"`
	Limit        int      `json:"limit,omitempty" jsonschema:"number of results to read, default 10, at most 50"`
	Rerank       bool     `json:"rerank,omitempty" jsonschema:"order the best results again by a reranking model before reading them: slower; refused if the server has none"`
	propertyFilter
	documentFilter
	graphInput
}

func (c *client) answerQuestion(ctx context.Context, in answerInput) (any, error) {
	body := queryBody(in.Query, in.EntityTypes, in.MinScore, in.Limit)
	in.addProperties(body)
	in.addFilter(body)
	addRerank(body, in.Rerank)
	in.addTo(body)
	if in.MaxSentences != 0 {
		body["maxSentences"] = in.MaxSentences
	}
	return quotedAnswer(c.post(ctx, "/api/rag/answer", body, nil))
}

// quotedAnswer returns the answer for the response to a question.
func quotedAnswer(r *response, err error) (any, error) {
	a, data, err := objectAnswer(r, err)
	if err != nil {
		return nil, err
	}
	a.Total = nil // of the search
	cited, _ := data["citations"].([]any)
	for _, item := range cited[:min(len(cited), defaultLimit)] {
		source, _ := item.(map[string]any)
		a.Citations = append(a.Citations, nodeCitation(map[string]any{"id": source["nodeId"], "name": source["name"]})...)
	}
	if len(cited) == 0 {
		a.Notes = append(a.Notes, "No sentence answers the question.")
	}
	a.Result, a.Cut, err = encodeWithin(data, "result", maxQuoted, maxText, maxShortText)
	return a, err
}

var nodeTool = &mcp.Tool{
	Name: "node", Title: "Read a node", Annotations: readOnly(),
	Description: "Read a node by its id. Long texts are cut; with text and from, read the rest of one.",
}

type nodeInput struct {
	ID   string `json:"id" jsonschema:"id of the node"`
	Text string `json:"text,omitempty" jsonschema:"read only this text: description or properties.KEY"`
	From int    `json:"from,omitempty" jsonschema:"byte of the text to start at"`
	momentInput
}

// momentInput has the parameters of tools that read the graph as of a moment.
type momentInput struct {
	AsOf         string `json:"asOf,omitempty" jsonschema:"read the graph as of this time, in RFC 3339"`
	AsOfSequence int    `json:"asOfSequence,omitempty" jsonschema:"read the graph as of the change with this sequence, see history"`
}

func (in *momentInput) addTo(query url.Values) {
	setText(query, "asOf", in.AsOf)
	setInt(query, "asOfSequence", in.AsOfSequence)
}

func (c *client) node(ctx context.Context, in nodeInput) (any, error) {
	query := url.Values{}
	in.addTo(query)
	a, node, err := objectAnswer(c.get(ctx, "/api/queries/nodes/"+url.PathEscape(in.ID), query))
	if err != nil {
		return nil, err
	}
	a.Citations = nodeCitation(node)
	if in.Text != "" {
		return textAnswer(a, node, &in)
	}
	a.Result, a.Cut, err = encodeItem(node, "result")
	return a, err
}

// textAnswer returns a part of a text of a node.
func textAnswer(a *answer, node map[string]any, in *nodeInput) (any, error) {
	text, ok := textAt(node, in.Text)
	if !ok {
		return nil, &problem{
			Code: "VALIDATION_ERROR", Message: "text: is not a text of the node", Status: http.StatusBadRequest,
			Details: map[string]any{"field": "text"},
		}
	}
	from := min(max(in.From, 0), len(text))
	part := truncate.Bytes(text[from:], maxAnswerBytes/2)
	if end := from + len(part); end < len(text) {
		a.Next = map[string]any{"id": in.ID, "text": in.Text, "from": end}
	}
	var err error
	a.Result, err = encode(map[string]any{"text": part, "from": from, "bytes": len(text)})
	return a, err
}

var neighborsTool = &mcp.Tool{
	Name: "neighbors", Title: "List neighbors of a node", Annotations: readOnly(),
	Description: "List the nodes that are connected to a node, nearest first, with the edges that lead to them.",
}

type neighborsInput struct {
	ID            string   `json:"id" jsonschema:"id of the node"`
	Depth         int      `json:"depth,omitempty" jsonschema:"maximum number of edges, 1 to 3, default 1"`
	Direction     string   `json:"direction,omitempty" jsonschema:"follow edges: out, in or both (default)"`
	RelationTypes []string `json:"relationTypes,omitempty" jsonschema:"follow only edges of these types"`
	EntityTypes   []string `json:"entityTypes,omitempty" jsonschema:"list only nodes of these types"`
	Limit         int      `json:"limit,omitempty" jsonschema:"number of nodes, default 10, at most 50"`
	Offset        int      `json:"offset,omitempty" jsonschema:"number of nodes to skip"`
	momentInput
}

func (c *client) neighbors(ctx context.Context, in neighborsInput) (any, error) {
	query := pageQuery(in.Limit, in.Offset)
	setInt(query, "depth", in.Depth)
	setText(query, "direction", in.Direction)
	addAll(query, "relationType", in.RelationTypes)
	addAll(query, "entityType", in.EntityTypes)
	in.addTo(query)
	return c.list(ctx, "/api/queries/nodes/"+url.PathEscape(in.ID)+"/neighbors", query, in.Offset, citeNode)
}

var historyTool = &mcp.Tool{
	Name: "history", Title: "List changes", Annotations: readOnly(),
	Description: "List the changes of a node and its edges, or of the whole graph, newest first.",
}

type historyInput struct {
	NodeID string `json:"nodeId,omitempty" jsonschema:"only changes of this node and its edges"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of changes, default 10, at most 50"`
	Offset int    `json:"offset,omitempty" jsonschema:"number of changes to skip"`
}

func (c *client) history(ctx context.Context, in historyInput) (any, error) {
	query := pageQuery(in.Limit, in.Offset)
	setText(query, "nodeId", in.NodeID)
	cite := uncited
	if in.NodeID != "" {
		cite = func(map[string]any) []citation { return []citation{{ID: in.NodeID, URI: nodeURI + in.NodeID}} }
	}
	return c.list(ctx, "/api/queries/history", query, in.Offset, cite)
}

var commandTool = &mcp.Tool{
	Name: "execute_command", Title: "Change the graph",
	Description: "Execute a command that changes the graph: CREATE_NODE {name, entityType, description?, properties?}, " +
		"UPDATE_NODE {id, name?, entityType?, description?, properties?}, DELETE_NODE {id}, " +
		"CREATE_EDGE {sourceId, targetId, relationType, properties?}, UPDATE_EDGE {id, relationType?, properties?}, " +
		"DELETE_EDGE {id}, UPSERT_NODE {key: {property: value}, entityType, name?, description?, properties?} and " +
		"UPSERT_EDGE {sourceId, targetId, relationType, properties?}, which change what exists or create it, " +
		"UNDO and REDO {commandId?} of own commands. entityType is concept, object, process or actor. " +
		"Every command can be undone.",
}

type commandInput struct {
	Type            string         `json:"type" jsonschema:"type of the command"`
	Payload         map[string]any `json:"payload,omitempty" jsonschema:"what the type needs"`
	ExpectedVersion *int64         `json:"expectedVersion,omitempty" jsonschema:"version that the changed node or edge must have"`
	IdempotencyKey  string         `json:"idempotencyKey,omitempty" jsonschema:"text that identifies the command, so that a repeated call has no second effect"`
}

func (c *client) execute(ctx context.Context, in commandInput) (any, error) {
	body := map[string]any{"type": in.Type}
	if in.Payload != nil {
		body["payload"] = in.Payload
	}
	if in.ExpectedVersion != nil {
		body["expectedVersion"] = *in.ExpectedVersion
	}
	header := http.Header{}
	if in.IdempotencyKey != "" {
		header.Set("Idempotency-Key", in.IdempotencyKey)
	}
	r, err := c.post(ctx, "/api/commands/execute", body, header)
	return itemAnswer(r, err, citeNode)
}

// list reads a page of a list.
func (c *client) list(
	ctx context.Context, path string, query url.Values, offset int, cite func(item map[string]any) []citation,
) (any, error) {
	r, err := c.get(ctx, path, query)
	if err != nil {
		return nil, err
	}
	return listAnswer(r, offset, cite)
}

// pageQuery returns the parameters of a page of a list.
func pageQuery(limit, offset int) url.Values {
	query := url.Values{}
	setInt(query, "limit", clampLimit(limit))
	setInt(query, "offset", offset)
	return query
}
