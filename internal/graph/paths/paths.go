// Package paths finds the shortest or cheapest simple paths between two nodes of a graph that is
// too large to read completely.
//
// A search reads edges from both ends through a [Reader], those of the nearest nodes first, and
// keeps them as a subgraph. After each read it lists the best paths in the subgraph by Yen's
// algorithm. A path with an edge that was not read leaves what is known of both ends, so it cannot
// be better than the nearest node that was not expanded at one end together with that of the other
// end. The search is finished when all paths that it returns are better than this bound. Edges that
// cannot be part of a better path than the worst of those are not kept.
//
// The package has no I/O of its own. The reader applies all filters.
package paths

import (
	"cmp"
	"context"
	"math"

	"github.com/google/uuid"
)

// Query selects paths.
type Query struct {
	From, To  uuid.UUID
	MaxLength int  // maximum number of edges, at least 1
	Limit     int  // maximum number of paths, at least 1
	Out, In   bool // follow edges from source to target, from target to source
	// Weighted sorts paths by the sum of the costs of their edges, then by length, then by the ids of
	// their edges. Otherwise costs are ignored, and paths are sorted by length and the ids of their edges.
	Weighted bool
}

// Edge is an edge that paths may follow.
type Edge struct {
	ID, Source, Target uuid.UUID
	Cost               float64 // finite and not negative
}

// Path is a path without repeated nodes. It has one edge fewer than nodes.
type Path struct {
	Nodes, Edges []uuid.UUID
	Cost         float64 // the sum of the costs of the edges; 0 if the query is not weighted
}

// Read is a request for edges of nodes.
type Read struct {
	Nodes   []uuid.UUID
	Out, In bool // edges whose source, whose target is among Nodes
	// Limit is the maximum number of edges, and MaxPerNode that of one node in each direction.
	Limit, MaxPerNode int
}

// Batch is the answer to a Read.
type Batch struct {
	Edges     []Edge // an edge may be repeated
	Examined  int    // number of edges that were examined, those that no path may follow included
	Truncated bool   // whether there are more edges than a limit allows
}

// Reader reads the edges of a graph, which does not change meanwhile.
type Reader interface {
	ReadEdges(ctx context.Context, read Read) (Batch, error)
}

// Limits bound a search.
type Limits struct {
	Edges int // maximum number of edges that are examined
	Nodes int // maximum number of nodes that are found
	// Work is the maximum number of steps from node to node in memory. Listing many paths takes most of them.
	Work int
	// FirstRead is the maximum number of edges of the first read at each end. If both ends have more,
	// readGrowth times as many are read. So the edges of a hub are not read if the other end suffices.
	FirstRead int
	// FirstNodes is the minimum number of nodes that a weighted search expands at once. It expands half
	// as many as before, which reads little more than one node at a time would.
	FirstNodes int
}

// DefaultLimits returns the limits of searches for requests.
func DefaultLimits() Limits {
	return Limits{Edges: 100_000, Nodes: 20_000, Work: 30_000_000, FirstRead: 2_000, FirstNodes: 16}
}

// Result has the paths that a search found, in order.
type Result struct {
	Paths []Path
	// Truncated reports that a limit ended the search. The paths exist, but others may be better or missing.
	Truncated    bool
	Edges, Nodes int // numbers of edges and nodes that were visited
}

// Find returns the first paths from one node to another. An error is one of the reader or of ctx.
func Find(ctx context.Context, reader Reader, q Query, limits Limits) (Result, error) {
	if q.From == q.To {
		return Result{Paths: []Path{{Nodes: []uuid.UUID{q.From}}}, Nodes: 1}, nil
	}
	s := newSearch(reader, q, limits)
	for {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		known := s.survey()
		list, exhausted := s.enumerate(ctx, known)
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		s.truncated = s.truncated || exhausted
		s.assess(known, list)
		if known.complete || s.truncated || known.worst.compare(known.bound) < 0 {
			return Result{Paths: list, Truncated: s.truncated, Edges: s.examined, Nodes: len(s.ids)}, nil
		}
		if err := s.expand(ctx, known); err != nil {
			return Result{}, err
		}
	}
}

// key is what paths are sorted by before the ids of their edges. Every edge adds to it, so that the
// best path has no cycle even if edges cost nothing.
type key struct {
	cost float64
	hops int
}

// infinite is above the keys of all paths.
var infinite = key{cost: math.Inf(1)}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.cost, other.cost), cmp.Compare(k.hops, other.hops))
}

// after returns the key of a path that begins with an edge and continues with a path of key k.
func (k key) after(cost float64) key { return key{cost + k.cost, k.hops + 1} }
