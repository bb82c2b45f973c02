// Package pattern finds the matches of a pattern in a graph that is too large to read completely.
//
// A pattern has named nodes and edges between them. A match assigns a node to each name, and to each edge of the
// pattern a trail: a sequence of edges from one node to the other. No edge is in a match twice; nodes may be.
//
// A search begins with the candidates of one name and extends partial matches by one edge of the pattern at a time. It
// reads the edges of all partial matches together through a [Reader], which evaluates the conditions of nodes. The
// package has no I/O of its own.
package pattern

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// Pattern is what matches have in common. Its edges connect all nodes that are not only at absent edges.
type Pattern struct {
	Nodes int // number of nodes; they are numbered from 0
	Edges []Edge
}

// Edge is an edge of a pattern: a trail from one node to another.
type Edge struct {
	From, To      int
	Out, In       bool     // follow edges from source to target, from target to source
	RelationTypes []string // follow edges of one of these; empty: all
	// MinLength and MaxLength are the numbers of edges of a trail, at least 1.
	MinLength, MaxLength int
	// Absent requires that there is no such trail. An end that is at no other edge is any node that meets its conditions.
	Absent bool
}

// Step is an edge that was followed from a node.
type Step struct {
	Edge, From, To uuid.UUID
}

// Read is a request for the edges of nodes.
type Read struct {
	Nodes         []uuid.UUID
	Out, In       bool
	RelationTypes []string
	Limit         int // maximum number of edges
}

// Reader reads a graph, which does not change meanwhile.
type Reader interface {
	// Start returns one of the nodes of the pattern with its candidates, at most limit. The fewer there are, the faster
	// is the search. more reports whether there are further candidates.
	Start(ctx context.Context, nodes []int, limit int) (node int, candidates []uuid.UUID, more bool, err error)
	// Select returns those of the ids that meet the conditions of a node of the pattern.
	Select(ctx context.Context, node int, ids []uuid.UUID) ([]uuid.UUID, error)
	// Steps reads edges, an edge from a node to itself once. complete has those of the nodes all whose edges were read.
	Steps(ctx context.Context, read Read) (steps []Step, complete []uuid.UUID, err error)
}

// Limits bound a search.
type Limits struct {
	Candidates int // maximum number of candidates that a search begins with
	Edges      int // maximum number of edges that are read
	Matches    int // maximum number of partial matches at a time
	Work       int // maximum number of steps in memory
}

// DefaultLimits returns the limits of searches for requests.
func DefaultLimits() Limits {
	return Limits{Candidates: 20_000, Edges: 100_000, Matches: 20_000, Work: 5_000_000}
}

// Match is a match of a pattern.
type Match struct {
	Nodes  []uuid.UUID   // by node of the pattern; the zero UUID for those that are only at absent edges
	Trails [][]uuid.UUID // by edge of the pattern: the edges from From to To; nil for absent edges
}

// Result has the matches that a search found, sorted by the ids of their nodes and edges.
type Result struct {
	Matches []Match
	// Truncated reports that a limit ended a part of the search. The matches are right, but others may be missing.
	Truncated bool
}

// Find returns the matches of a pattern. An error is one of the reader or of ctx.
func Find(ctx context.Context, reader Reader, p Pattern, limits Limits) (Result, error) {
	s := &search{
		reader: reader, pattern: p, required: p.Required(), limits: limits, bound: make([]bool, p.Nodes),
		done: make([]bool, len(p.Edges)),
	}
	if err := s.start(ctx); err != nil {
		return Result{}, err
	}
	for {
		edge, found := s.next()
		if !found {
			break
		}
		if err := s.extend(ctx, edge); err != nil {
			return Result{}, err
		}
	}
	slices.SortFunc(s.matches, compareMatches)
	return Result{Matches: s.matches, Truncated: s.truncated}, nil
}

// Required reports for each node of the pattern whether matches have it: whether it is at an edge that is not absent,
// or the only node.
func (p *Pattern) Required() []bool {
	required := make([]bool, p.Nodes)
	for i := range p.Edges {
		if e := &p.Edges[i]; !e.Absent {
			required[e.From], required[e.To] = true, true
		}
	}
	if !slices.Contains(required, true) && p.Nodes > 0 {
		required[p.first()] = true
	}
	return required
}

// first returns the only node that matches of a pattern have whose edges are all absent.
func (p *Pattern) first() int {
	if len(p.Edges) == 0 {
		return 0
	}
	return p.Edges[0].From
}

// Connected reports whether edges that are not absent connect all required nodes, and each absent edge begins or ends
// at one of these.
func (p *Pattern) Connected() bool {
	required := p.Required()
	reached := make([]bool, p.Nodes)
	reached[slices.Index(required, true)] = true
	for range p.Nodes {
		for i := range p.Edges {
			if e := &p.Edges[i]; !e.Absent && (reached[e.From] || reached[e.To]) {
				reached[e.From], reached[e.To] = true, true
			}
		}
	}
	if !slices.Equal(reached, required) {
		return false
	}
	for i := range p.Edges {
		if e := &p.Edges[i]; !required[e.From] && !required[e.To] {
			return false
		}
	}
	for i := range reached {
		if !reached[i] && !p.isAtAbsentEdge(i) {
			return false
		}
	}
	return true
}

func (p *Pattern) isAtAbsentEdge(node int) bool {
	return slices.ContainsFunc(p.Edges, func(e Edge) bool { return e.Absent && (e.From == node || e.To == node) })
}

func compareMatches(a, b Match) int {
	if order := slices.CompareFunc(a.Nodes, b.Nodes, uuids.Compare); order != 0 {
		return order
	}
	return slices.CompareFunc(a.Trails, b.Trails, func(a, b []uuid.UUID) int {
		return slices.CompareFunc(a, b, uuids.Compare)
	})
}
