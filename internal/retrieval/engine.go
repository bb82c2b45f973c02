package retrieval

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/breaker"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// TextLane finds nodes by their words. All nodes that it returns pass the filter.
type TextLane interface {
	// SearchText returns the best nodes by BM25, best first, at most limit, and at most
	// named nodes whose full name occurs in the text, those with the highest certainty.
	SearchText(ctx context.Context, workspace uuid.UUID, text string, f Filter, limit, named int) (TextFindings, error)
}

// Index is the index that the vector lane searches.
type Index struct {
	Collection string
	Model      embed.Model // the model of its vectors
}

// VectorFilter filters the nodes that the vector lane searches.
type VectorFilter struct {
	EntityTypes []string    // any of; nil: all
	Nodes       []uuid.UUID // only these, at most [MaxFilterNodes]; nil: all
}

// MaxFilterNodes is the maximum number of Nodes of a Near.
const MaxFilterNodes = 5_000

// VectorLane finds chunks by meaning. Its errors are faults: Unavailable if the store is
// unavailable, if no index is live yet, or if the collection of the index was deleted.
type VectorLane interface {
	// LiveIndex returns the index that is searched.
	LiveIndex(ctx context.Context) (Index, error)
	// Nearest returns the nearest chunks in it, nearest first.
	Nearest(
		ctx context.Context, index Index, workspace uuid.UUID, vector embed.Vector, near VectorFilter, limit int,
	) ([]VectorHit, error)
}

// Graph reads the current nodes and edges from the authoritative store.
type Graph interface {
	// ReadNodes reads those of the nodes that are not deleted and pass the filter.
	ReadNodes(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f Filter) (map[uuid.UUID]graph.Node, error)
	// FilterNodes returns only the ids of these nodes, in no order.
	FilterNodes(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f Filter) ([]uuid.UUID, error)
	// MatchingNodes returns up to limit nodes that pass the filter, and whether there
	// are more.
	MatchingNodes(ctx context.Context, workspace uuid.UUID, f Filter, limit int) (ids []uuid.UUID, more bool, err error)
	// WalkEdges returns edges of the nodes of the frontier; see [Step].
	WalkEdges(ctx context.Context, workspace uuid.UUID, step Step) (WalkResult, error)
	// DocumentParts returns which of the nodes belong to documents.
	DocumentParts(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]DocumentPart, error)
	// ReadMarks reads the ids and entity types of those of the nodes that are not deleted, and their property
	// [document.Key]. The other fields are empty.
	ReadMarks(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]graph.Node, error)
	// ReadEdges reads those of the edges that are not deleted.
	ReadEdges(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]graph.Edge, error)
}

// DocumentPart is a node of a document.
type DocumentPart struct {
	Document uuid.UUID // the id of the document's own node
	Passage  bool      // false: it is the document's own node
}

// Step is a request for the edges of some nodes.
type Step struct {
	Frontier      []uuid.UUID // the more important first
	Direction     Direction
	RelationTypes []string // any of; empty: all
	Filter        Filter   // of the node at the other end
	MaxPerNode    int      // maximum of edges of a node, in each direction
	// ByRelation divides MaxPerNode among the relation types of a node's edges, so that each
	// type is represented. Otherwise the alphabetically first types may use all of it.
	ByRelation bool
	Limit      int // maximum of edges in total
}

// WalkResult are the edges of a step, each once, in a deterministic order.
type WalkResult struct {
	Edges          []Link
	Truncated      bool        // there are more edges
	TruncatedNodes []uuid.UUID // nodes of the frontier that have more edges than were read, in the order of the frontier
}

// Link has the ids of an edge and of its ends.
type Link struct {
	Edge, Source, Target uuid.UUID
}

// QueryEmbedder computes the vectors of queries. Its errors are faults, except for
// [embed.ErrOtherModel].
type QueryEmbedder interface {
	// Model returns the configured model. The index uses it, or will after it is rebuilt.
	Model() embed.Model
	// EmbedQuery returns the vector of a query in the space of a model; nil: it has none.
	EmbedQuery(ctx context.Context, model embed.Model, text string) (embed.Vector, error)
	// EmbedTexts returns the vectors of the texts by the configured model; nil: a text has none.
	EmbedTexts(ctx context.Context, texts []string) ([]embed.Vector, error)
}

// Deps are the dependencies of an engine.
type Deps struct {
	Text    TextLane
	Vectors VectorLane
	Graph   Graph
	// Embedder computes the vector of a query with the model of the index.
	Embedder QueryEmbedder
	// Chunks splits the text of a node as for the index; nil: hits have no chunk.
	Chunks func(n *graph.Node) []Chunk
	Logger *slog.Logger // nil: nothing is logged
	// Observe is called for each lane that was queried, and for the graph walk as
	// LaneGraph, from several goroutines; nil: none.
	Observe func(lane string, took time.Duration, err error)
	// LaneTimeout is the timeout of a lane; 0: DefaultLaneTimeout.
	LaneTimeout time.Duration
	// WalkTimeout is the timeout of a graph walk; 0: DefaultWalkTimeout.
	WalkTimeout time.Duration
	// Chat writes texts; nil: no chat model is configured.
	Chat ChatModel
	// MaxPrompt is the maximum size of a prompt for it in bytes.
	MaxPrompt int
	// Reranker orders results again; nil: none is configured.
	Reranker Reranker
	// MaxRerank is the maximum number of results that it orders, and MaxRerankText the maximum size of a text in bytes.
	MaxRerank, MaxRerankText int
}

// DefaultLaneTimeout is the time after which a lane is treated as unavailable.
const DefaultLaneTimeout = 3 * time.Second

// DefaultWalkTimeout is the time after which a graph walk stops with a partial result.
const DefaultWalkTimeout = time.Second

// DefaultWeights returns the weights of a query that specifies none.
func DefaultWeights() Weights { return Weights{Text: 1, Vector: 1, Graph: 1} }

// Engine answers queries. It is safe for concurrent use.
type Engine struct {
	deps Deps
	// vectorBreaker stops requests to the vector store while it does not respond.
	vectorBreaker breaker.Breaker
	// lastModel is the model of the index that was searched last, which is most likely that
	// of the next search. The query is embedded with it while the live index is looked up.
	lastModel atomic.Pointer[embed.Model]
}

// New creates an engine.
func New(deps Deps) *Engine {
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Observe == nil {
		deps.Observe = func(string, time.Duration, error) {}
	}
	if deps.LaneTimeout <= 0 {
		deps.LaneTimeout = DefaultLaneTimeout
	}
	if deps.WalkTimeout <= 0 {
		deps.WalkTimeout = DefaultWalkTimeout
	}
	return &Engine{deps: deps}
}
