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

// TextLane finds nodes by their words. What it gives passes the filter.
type TextLane interface {
	// SearchText returns the best nodes by BM25, best first, at most limit, and nodes whose
	// whole name stands in the text, at most named, those that it means most certainly.
	SearchText(ctx context.Context, workspace uuid.UUID, text string, f Filter, limit, named int) (TextFindings, error)
}

// Index is where the vector lane looks.
type Index struct {
	Collection string
	Model      embed.Model // that made its vectors
}

// Near narrows what the vector lane looks at.
type Near struct {
	EntityTypes []string    // any of; nil: all
	Nodes       []uuid.UUID // only these, at most [MostNodes]; nil: all
}

// MostNodes is how many nodes Near names at most.
const MostNodes = 5_000

// VectorLane finds chunks by meaning. Its errors are faults: Unavailable when the
// store is unavailable, when no index is live yet, and when its collection is gone.
type VectorLane interface {
	// LiveIndex reports which index answers.
	LiveIndex(ctx context.Context) (Index, error)
	// Nearest returns the nearest chunks in it, nearest first.
	Nearest(
		ctx context.Context, index Index, workspace uuid.UUID, vector embed.Vector, near Near, limit int,
	) ([]VectorHit, error)
}

// Graph reads the truth: nodes and edges as they are now.
type Graph interface {
	// FoundNodes reads those of the nodes that stand and pass the filter.
	FoundNodes(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f Filter) (map[uuid.UUID]graph.Node, error)
	// PassingNodes returns the ids of the same, in no order, without reading them whole.
	PassingNodes(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID, f Filter) ([]uuid.UUID, error)
	// MatchingNodes returns up to limit nodes that pass the filter, and whether there
	// are more.
	MatchingNodes(ctx context.Context, workspace uuid.UUID, f Filter, limit int) (ids []uuid.UUID, more bool, err error)
	// WalkEdges returns edges at the frontier; see [Step].
	WalkEdges(ctx context.Context, workspace uuid.UUID, step Step) (Walked, error)
	// FoundEdges reads those of the edges that stand.
	FoundEdges(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]graph.Edge, error)
}

// Step asks for the edges of some nodes.
type Step struct {
	Frontier      []uuid.UUID // the more important first
	Direction     Direction
	RelationTypes []string // any of; empty: all
	Filter        Filter   // of the node at the other end
	OfNode        int      // most edges of a node, each way
	// ByRelation shares OfNode among the relation types of a node's edges, so that each
	// has some; else the first types in the alphabet may have them all.
	ByRelation bool
	Limit      int // most in all
}

// Walked are edges, each once, in a fixed order.
type Walked struct {
	Edges     []Link
	Truncated bool        // there are more
	Cut       []uuid.UUID // nodes of the frontier that have more than were looked at of them, in its order
}

// Link is an edge as a walk needs it.
type Link struct {
	Edge, Source, Target uuid.UUID
}

// QueryEmbedder turns queries into vectors. Its errors are faults, except for
// [embed.ErrOtherModel].
type QueryEmbedder interface {
	// Model returns the configured model, which the index has, or will have.
	Model() embed.Model
	// EmbedQuery returns the vector of a query in the space of a model; nil: it has none.
	EmbedQuery(ctx context.Context, model embed.Model, text string) (embed.Vector, error)
}

// Deps are what an engine works with.
type Deps struct {
	Text    TextLane
	Vectors VectorLane
	Graph   Graph
	// Embedder turns a query into a vector of the index's model.
	Embedder QueryEmbedder
	// Chunks cuts a node's text as it was cut for the index; nil: hits name no chunk.
	Chunks func(n *graph.Node) []Chunk
	Logger *slog.Logger // nil: silent
	// Observe is told of each lane that was asked, and of the whole walk as LaneGraph;
	// nil: nobody is. It is called from several goroutines.
	Observe func(lane string, took time.Duration, err error)
	// LaneTimeout is how long a lane may take; 0: DefaultLaneTimeout.
	LaneTimeout time.Duration
	// WalkTimeout is how long a walk may take; 0: DefaultWalkTimeout.
	WalkTimeout time.Duration
}

// DefaultLaneTimeout is how long a lane may take before it counts as away.
const DefaultLaneTimeout = 3 * time.Second

// DefaultWalkTimeout is when a walk through the graph ends where it is.
const DefaultWalkTimeout = time.Second

// DefaultWeights are those of a query that names none.
func DefaultWeights() Weights { return Weights{Text: 1, Vector: 1, Graph: 1} }

// Engine answers queries. It is safe for concurrent use.
type Engine struct {
	deps Deps
	// nearest leaves the vector store alone while it does not answer.
	nearest breaker.Breaker
	// searched is the model of the index that was searched last: most likely that of the
	// next, so that its vector is made while it is looked up which index that is.
	searched atomic.Pointer[embed.Model]
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
