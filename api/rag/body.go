package rag

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphfilter"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/retrieval"
)

// Limits of a search.
const (
	maxQuery     = 8192 // characters
	defaultLimit = 10
	maxTotal     = 1000 // ranked candidates; an offset cannot reach more
	maxHops      = 3
	defaultHops  = 2
	maxStarts    = 100

	defaultSentences = 3 // of an answer
	maxSentences     = 10
	// maxModelQuery is the maximum length of a query for a chat model or a reranker in characters.
	maxModelQuery = 1000
)

// queryBody has the fields that all searches have.
type queryBody struct {
	documentBody
	Query       *string                   `json:"query"`
	Limit       *int64                    `json:"limit"`
	EntityTypes []string                  `json:"entityTypes"`
	MinScore    *float64                  `json:"minScore"`
	Properties  map[string]jsontext.Value `json:"properties"`
	graphfilter.BoundsBody
	Rerank *rerankBody `json:"rerank"`
}

// searchBody is the body of a search.
type searchBody struct {
	queryBody
	facetBody
	Offset         *int64  `json:"offset"`
	IncludeContent bool    `json:"includeContent"`
	GroupBy        *string `json:"groupBy"`
}

// groupByDocument is the only value of groupBy.
const groupByDocument = "document"

// graphBody has the fields of searches that use the graph.
type graphBody struct {
	Hops            *int64       `json:"hops"`
	RelationTypes   []string     `json:"relationTypes"`
	Direction       *string      `json:"direction"`
	NodeIDs         []string     `json:"nodeIds"`
	Weights         *weightsBody `json:"weights"`
	IncludeLiveData bool         `json:"includeLiveData"`
}

// hybridBody is the body of a hybrid search.
type hybridBody struct {
	searchBody
	graphBody
	Explain      bool `json:"explain"`
	IncludeEdges bool `json:"includeEdges"`
}

// answerBody is the body of a question.
type answerBody struct {
	queryBody
	graphBody
	MaxSentences *int64  `json:"maxSentences"`
	Mode         *string `json:"mode"`
}

// Modes of an answer.
const (
	modeExtract  = "extract"  // sentences are quoted
	modeGenerate = "generate" // a chat model writes a text
)

type weightsBody struct {
	Text   *float64 `json:"text"`
	Vector *float64 `json:"vector"`
	Graph  *float64 `json:"graph"`
}

// pageRange is the requested range of the results.
type pageRange struct {
	limit  int
	offset int
}

// read validates the fields and returns their query.
func (b *queryBody) read(c *request.Check, workspace uuid.UUID, m models) retrieval.Query {
	q := retrieval.Query{Workspace: workspace, Filter: retrieval.Filter{
		EntityTypes: graphfilter.EntityTypes(c, "entityTypes", b.EntityTypes),
		Properties:  graphfilter.Properties(c, "properties", b.Properties),
		Bounds:      b.Read(c, ""),
		Document:    b.documentBody.read(c),
	}}
	c.Required("query", b.Query != nil)
	if b.Query != nil {
		q.Text = *b.Query
		checkQuery(c, q.Text)
	}
	if b.MinScore != nil {
		q.MinScore = *b.MinScore
		request.Between(c, "minScore", q.MinScore, 0, 1)
	}
	q.Limit = defaultLimit
	if b.Limit != nil {
		if *b.Limit < 1 {
			c.Fail("limit", "must be at least 1")
		}
		q.Limit = int(min(*b.Limit, request.MaxLimit))
	}
	q.Rerank = b.Rerank.read(c, q.Text, m)
	return q
}

// read validates the body and returns its query.
func (b *searchBody) read(c *request.Check, workspace uuid.UUID, m models) (retrieval.Query, pageRange) {
	q := b.queryBody.read(c, workspace, m)
	if b.GroupBy != nil {
		c.OneOf("groupBy", *b.GroupBy, groupByDocument)
		q.ByDocument = true
	}
	q.Facets = b.facetBody.read(c)
	p := pageRange{limit: q.Limit}
	if b.Offset != nil {
		if *b.Offset < 0 {
			c.Fail("offset", "must not be negative")
		}
		p.offset = int(*b.Offset)
	}
	q.Offset = min(p.offset, maxTotal)
	return q, p
}

func checkQuery(c *request.Check, query string) {
	switch n := utf8.RuneCountInString(query); {
	case strings.TrimSpace(query) == "":
		c.Fail("query", "must not be empty")
	case n > maxQuery:
		c.Fail("query", fmt.Sprintf("must have at most %d characters", maxQuery))
	}
}

// read validates the body and returns its query.
func (b *hybridBody) read(c *request.Check, workspace uuid.UUID, m models) (retrieval.HybridQuery, pageRange) {
	query, p := b.searchBody.read(c, workspace, m)
	q := b.graphBody.read(c, query)
	q.Explain = b.Explain
	return q, p
}

// read validates the body and returns its query.
func (b *answerBody) read(c *request.Check, workspace uuid.UUID, m models) retrieval.AnswerQuery {
	q := retrieval.AnswerQuery{
		HybridQuery: b.graphBody.read(c, b.queryBody.read(c, workspace, m)), MaxSentences: defaultSentences,
	}
	if b.MaxSentences != nil {
		request.Between(c, "maxSentences", *b.MaxSentences, 1, maxSentences)
		q.MaxSentences = int(*b.MaxSentences)
	}
	if b.Mode == nil {
		return q
	}
	c.OneOf("mode", *b.Mode, modeExtract, modeGenerate)
	if q.Evidence = *b.Mode == modeGenerate; !q.Evidence {
		return q
	}
	if !m.chat {
		c.Fail("mode", "generate requires a chat model, and the operator has configured none", modeExtract)
	}
	if utf8.RuneCountInString(q.Text) > maxModelQuery {
		c.Fail("query", fmt.Sprintf("must have at most %d characters with mode generate", maxModelQuery))
	}
	return q
}

// read validates the fields and returns the query with them.
func (b *graphBody) read(c *request.Check, query retrieval.Query) retrieval.HybridQuery {
	q := retrieval.HybridQuery{
		Query: query, Hops: defaultHops, Direction: retrieval.AnyDirection,
		RelationTypes: graphfilter.RelationTypes(c, "relationTypes", b.RelationTypes),
		Starts:        startNodes(c, b.NodeIDs), Weights: b.Weights.read(c),
	}
	if b.Hops != nil {
		request.Between(c, "hops", *b.Hops, 0, maxHops)
		q.Hops = int(*b.Hops)
	}
	if b.Direction != nil {
		c.OneOf(
			"direction", *b.Direction, string(retrieval.Outgoing), string(retrieval.Incoming), string(retrieval.AnyDirection),
		)
		q.Direction = retrieval.Direction(*b.Direction)
	}
	return q
}

// startNodes parses the ids of the start nodes and removes duplicates. Unknown ids are not an error.
func startNodes(c *request.Check, texts []string) (ids []uuid.UUID) {
	for _, id := range c.UUIDs("nodeIds", texts, maxStarts) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// read validates and returns the weights. Weights that are not set have their defaults.
func (b *weightsBody) read(c *request.Check) retrieval.Weights {
	w := retrieval.DefaultWeights()
	if b == nil {
		return w
	}
	for _, lane := range []struct {
		name   string
		given  *float64
		weight *float64
	}{{"text", b.Text, &w.Text}, {"vector", b.Vector, &w.Vector}, {"graph", b.Graph, &w.Graph}} {
		if lane.given != nil {
			request.Between(c, "weights."+lane.name, *lane.given, 0, 1)
			*lane.weight = *lane.given
		}
	}
	if w == (retrieval.Weights{}) {
		c.Fail("weights", "must not all be 0")
	}
	return w
}
