// Package retrieval finds nodes of a workspace's graph for a query in natural language:
// by the words of the query, by its meaning, and by the edges between the nodes found.
//
// Three lanes score nodes. The text lane ranks by BM25 over names, descriptions and
// properties. The vector lane ranks by the cosine similarity of embeddings of the same
// texts, split into chunks. The graph lane propagates the scores of both over the edges
// of the workspace (personalised PageRank), so that a node that matches neither words nor
// meaning is found through its neighbours. A [Query] uses the first two lanes, a
// [HybridQuery] uses all.
//
// The package does the ranking, and depends on no store: it reads through small
// interfaces. Nodes that do not pass the filter are neither ranked nor traversed. Each hit
// is read from the graph before it is returned, so a node that is deleted, or belongs to
// another workspace, is never in a result, whatever an index contains.
package retrieval

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// Filter selects the nodes that may be found and traversed. Empty: all of the workspace.
type Filter struct {
	EntityTypes []string // any of
	// Properties has the accepted values of top-level properties, in canonical JSON. Each
	// property must equal any of its values.
	Properties map[string][]jsontext.Value
	Bounds     graph.PropertyBounds
	Document   DocumentFilter
}

// DocumentFilter selects nodes by the document to which they belong: its own node and its passages, which inherit
// its tags and its timestamp. Unless the filter is empty, nodes without a document do not pass.
type DocumentFilter struct {
	// IDs are the ids of documents, of which a node must belong to one; empty: any. Those of no document match nothing.
	IDs     []uuid.UUID
	AnyTags []string // one of them at least; empty: any
	AllTags []string // each of them
	// From is inclusive and To exclusive. If one of them is set, documents without a timestamp do not pass.
	From, To *time.Time
}

// IsEmpty reports whether all nodes of the workspace pass.
func (f *Filter) IsEmpty() bool { return len(f.EntityTypes) == 0 && f.hasOnlyEntityTypes() }

// hasOnlyEntityTypes reports whether there are no other conditions than entity types.
func (f *Filter) hasOnlyEntityTypes() bool {
	return len(f.Properties) == 0 && f.Bounds.IsEmpty() && f.Document.IsEmpty()
}

// IsEmpty reports whether all nodes pass, also those without a document.
func (f *DocumentFilter) IsEmpty() bool {
	return len(f.IDs) == 0 && len(f.AnyTags) == 0 && len(f.AllTags) == 0 && f.From == nil && f.To == nil
}

// Query is a search by words and meaning.
type Query struct {
	Workspace uuid.UUID
	Text      string // 1 to 8,192 characters
	Filter    Filter
	MinScore  float64 // minimum of Hit.Score; 0: any
	Limit     int     // 1 to 100
	Offset    int
	// ByDocument returns only the best node of each document, a passage rather than the document's
	// own node.
	ByDocument bool
	Facets     FacetQuery
	Rerank     RerankQuery
}

// RerankQuery is which results a [Reranker] orders again.
type RerankQuery struct {
	Candidates int // the best results, of all pages; 0: none
	// Weight is the weight of the order by the reranker, 0 to 1; the order of the search has the rest. 1: only the
	// reranker decides.
	Weight float64
}

// Direction is the direction in which edges are traversed.
type Direction string

// The directions: Outgoing from the source to the target of an edge.
const (
	AnyDirection Direction = "both"
	Outgoing     Direction = "out"
	Incoming     Direction = "in"
)

// Weights has the weight of each lane, 0 to 1 each, not all 0.
type Weights struct {
	Text, Vector, Graph float64
}

// HybridQuery is a search by words, meaning and the graph.
type HybridQuery struct {
	Query
	Hops          int // 0 to 3; 0: only the nodes of the text and vector lanes, and Starts
	RelationTypes []string
	Direction     Direction
	Starts        []uuid.UUID // nodes that are seeds as if the query named them
	Weights       Weights
	Explain       bool
}

// Scores has the score of a node in each lane, 0 to 1; nil: the lane did not find it.
type Scores struct {
	Text, Vector, Graph *float64
}

// Chunk is a part of a node's text.
type Chunk struct {
	Index int    // from 0
	Text  string // as in the description
	// From and To are its position in the description, in bytes. They are equal if it has only the name or properties.
	From, To int
}

// Hit is a node that was found.
type Hit struct {
	Node    graph.Node // in its current state
	Score   float64    // orders the hits, unless they are reranked, 0 to 1
	Scores  Scores
	Snippet string       // the part of its text that matches the query best, at most 300 characters
	Chunk   *Chunk       // the chunk that the vector lane found; nil: none, or the text has changed since
	Path    []graph.Edge // hybrid: from a seed, such as a hit of another lane, to this node
	Reasons []Reason     // hybrid, with Explain
	// RerankScore is the score by the reranker, in its own range; nil: the hit is not one of the reranked.
	RerankScore *float64
}

// Reason explains a part of the score of a hit.
type Reason struct {
	Kind   string    // named, start, text, vector, graph
	From   uuid.UUID // graph: the seed from which the score was propagated
	Detail string    // human-readable
	Share  float64   // of the score, 0 to 1
}

// Lanes that can be missing in a result.
const (
	LaneText   = "text"
	LaneVector = "vector"
	LaneGraph  = "graph"
)

// Result is a page of hits.
type Result struct {
	Hits     []Hit
	Total    int      // candidates that were ranked, at most 1,000
	Degraded []string // lanes that failed or are incomplete, and [DegradedRerank]; empty: none
	Facets   []Facet  // of all candidates that were ranked, in the order of the query
	Reranked *Reranked
}

// TextFindings are the results of the text lane.
type TextFindings struct {
	Hits       []TextHit
	Named      []NamedNode
	Truncation TextTruncation
}

// TextTruncation is the part of the postings that was read of words that very many nodes have.
type TextTruncation string

// The parts that are read of such words.
const (
	TextComplete    TextTruncation = ""         // all; also if there is no such word
	TextTopWeighted TextTruncation = "heaviest" // the nodes for which the word has the highest weight
	TextNewest      TextTruncation = "newest"   // the newest nodes: the list of the heaviest is not built yet
)

// NamedNode is a node whose full name occurs in the query.
type NamedNode struct {
	Node uuid.UUID
	// Certainty is the certainty that the query means this node, above 0 to 1. All nodes with
	// the same name share the certainty of the name, which is 1, or less if the name is so
	// short that it may occur by chance.
	Certainty float64
}

// TextHit is a node that the text lane found.
type TextHit struct {
	Node  uuid.UUID
	Score float64 // BM25, above 0, plus what the lane adds for names
	// NormalisedScore is the normalised score: BM25 divided by the sum of the inverse document
	// frequencies of all terms of the query, including those that no node has. It is about
	// 1 for a node that has all terms once, and more for a node that has them more often
	// than others. If all matches are poor, the best one has a low share.
	NormalisedScore float64
}

// VectorHit is a chunk that the vector lane found.
type VectorHit struct {
	Node   uuid.UUID
	Chunk  int
	Cosine float64 // scaled by the engine, see [vector.Model.Similarity]
}
