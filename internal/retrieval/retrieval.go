// Package retrieval finds nodes of a workspace's graph by what is asked in words: by
// the words themselves, by meaning, and by how what is found so hangs together.
//
// Three lanes score nodes. The text lane ranks by BM25 over names, descriptions and
// properties; the vector lane by the cosine of embeddings of the same texts, cut
// into chunks; the graph lane spreads the scores of both over the edges of the
// workspace (personalised PageRank), so that a node that is named nowhere is found
// by what it is linked to. A [Query] is answered by the first two, a [HybridQuery]
// by all.
//
// The package owns ranking, and knows no store: what it needs it is given through
// small interfaces. What a filter does not let through is neither ranked nor walked,
// and what is found is read again from the graph before it is shown: a node that is
// deleted, or of another workspace, is never in an answer, whatever an index says.
package retrieval

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// Filter says which nodes may be found and walked over. Empty: all of the workspace.
type Filter struct {
	EntityTypes []string // any of
	// Properties are by top-level key, each equal to any of the values, in canonical
	// JSON.
	Properties map[string][]jsontext.Value
}

// Query is a search by words and meaning.
type Query struct {
	Workspace uuid.UUID
	Text      string // 1 to 8,192 characters
	Filter    Filter
	MinScore  float64 // of Hit.Score; 0: any
	Limit     int     // 1 to 100
	Offset    int
}

// Direction says how edges are walked.
type Direction string

// The directions: Outgoing from the source to the target of an edge.
const (
	AnyDirection Direction = "both"
	Outgoing     Direction = "out"
	Incoming     Direction = "in"
)

// Weights are how much each lane counts, 0 to 1 each, not all 0.
type Weights struct {
	Text, Vector, Graph float64
}

// HybridQuery is a search by words, meaning and the graph.
type HybridQuery struct {
	Query
	Hops          int // 0 to 3; 0: the nodes that the words find, and Starts, only
	RelationTypes []string
	Direction     Direction
	Starts        []uuid.UUID // nodes that are sought from as if the query named them
	Weights       Weights
	Explain       bool
}

// Scores are what each lane gave a node, 0 to 1; nil: the lane did not find it.
type Scores struct {
	Text, Vector, Graph *float64
}

// Chunk is a part of a node's text.
type Chunk struct {
	Index int    // from 0
	Text  string // as it is in the description
}

// Hit is a node that was found.
type Hit struct {
	Node    graph.Node // as it is now
	Score   float64    // orders the hits, 0 to 1
	Scores  Scores
	Snippet string       // what of its text suits the query best, at most 300 characters
	Chunk   *Chunk       // that the vector lane found; nil: it did not, or the text is another by now
	Path    []graph.Edge // hybrid: from the node that was found by words or meaning to this one
	Reasons []Reason     // hybrid, with Explain
}

// Reason is a part of a hit's score that can be told.
type Reason struct {
	Kind   string    // named, start, text, vector, graph
	From   uuid.UUID // graph: the seed whose score came here
	Detail string    // for people
	Share  float64   // of the score, 0 to 1
}

// Lanes that can be missing in an answer.
const (
	LaneText   = "text"
	LaneVector = "vector"
	LaneGraph  = "graph"
)

// Result is a page of hits.
type Result struct {
	Hits     []Hit
	Total    int      // candidates that were ranked, at most 1,000
	Degraded []string // lanes that could not be asked, or not wholly; empty: none
}

// TextFindings are what the text lane found.
type TextFindings struct {
	Hits  []TextHit
	Named []NamedNode
	Cut   TextCut
}

// TextCut reports how much was read of words that very many nodes have.
type TextCut string

// What was read of them.
const (
	TextWhole    TextCut = ""         // all; or no word was such
	TextHeaviest TextCut = "heaviest" // the nodes that such a word weighs most for
	TextNewest   TextCut = "newest"   // the newest nodes: the heaviest are not listed yet
)

// NamedNode is a node whose whole name stands in the query.
type NamedNode struct {
	Node uuid.UUID
	// Mass is how certainly the query means this node, above 0 to 1: what its name says,
	// shared among all nodes that have it. Those of one name have 1 together, and less
	// when the name is so short that it may stand there by chance.
	Mass float64
}

// TextHit is a node that the text lane found.
type TextHit struct {
	Node  uuid.UUID
	Score float64 // BM25, above 0, and what the lane adds for names
	// Share is how much of the query's weight the node has: BM25 by the sum of the
	// inverse document frequencies of all the query's terms, those that no node has
	// included. About 1 for a node that has them all once, more for one that has them
	// oftener than others; the best of a bad lot has little.
	Share float64
}

// VectorHit is a chunk that the vector lane found.
type VectorHit struct {
	Node   uuid.UUID
	Chunk  int
	Cosine float64
}
