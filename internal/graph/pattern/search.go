package pattern

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// search is a search for the matches of a pattern.
type search struct {
	reader    Reader
	pattern   Pattern
	required  []bool // see Pattern.Required
	limits    Limits
	matches   []Match // partial matches
	bound     []bool  // by node of the pattern: whether partial matches have it
	done      []bool  // by edge of the pattern: whether partial matches have it
	edgesRead int
	work      int
	truncated bool
}

// start makes a partial match of each candidate of a node.
func (s *search) start(ctx context.Context) error {
	var nodes []int
	for node, required := range s.required {
		if required {
			nodes = append(nodes, node)
		}
	}
	node, candidates, more, err := s.reader.Start(ctx, nodes, min(s.limits.Candidates, s.limits.Matches))
	if err != nil {
		return err
	}
	s.truncated, s.bound[node] = more, true
	s.matches = make([]Match, len(candidates))
	for i, id := range candidates {
		m := Match{Nodes: make([]uuid.UUID, s.pattern.Nodes), Trails: make([][]uuid.UUID, len(s.pattern.Edges))}
		m.Nodes[node] = id
		s.matches[i] = m
	}
	return nil
}

// next returns the edge of the pattern by which to extend the partial matches: one that removes matches before one
// that adds nodes, and short trails before long ones.
func (s *search) next() (edge int, found bool) {
	best := 0
	for i := range s.pattern.Edges {
		e := &s.pattern.Edges[i]
		from, to := s.bound[e.From], s.bound[e.To]
		ready := from || to
		if e.Absent {
			ready = (from || !s.required[e.From]) && (to || !s.required[e.To])
		}
		if s.done[i] || !ready {
			continue
		}
		cost := e.MaxLength
		if !e.Absent && from != to {
			cost += maxLength
		}
		if !found || cost < best {
			edge, best, found = i, cost, true
		}
	}
	return edge, found
}

// maxLength is more than the length of any trail.
const maxLength = 1_000

// extend extends all partial matches by an edge of the pattern.
func (s *search) extend(ctx context.Context, edge int) error {
	e := &s.pattern.Edges[edge]
	x := &extension{search: s, edge: edge, near: e.From, far: e.To, out: e.Out, in: e.In}
	if !s.bound[e.From] || (s.bound[e.To] && len(s.distinct(e.To)) < len(s.distinct(e.From))) {
		x.near, x.far, x.out, x.in, x.backwards = e.To, e.From, e.In, e.Out, true
	}
	x.farBound = s.bound[x.far]
	if err := x.read(ctx); err != nil {
		return err
	}
	var extended []Match
	for i := range s.matches {
		if err := ctx.Err(); err != nil {
			return err
		}
		extended = x.apply(extended, &s.matches[i])
		if len(extended) >= s.limits.Matches || s.work >= s.limits.Work {
			s.truncated = s.truncated || i+1 < len(s.matches) || x.missed
			break
		}
	}
	s.truncated = s.truncated || x.missed
	s.matches, s.done[edge] = extended, true
	if !e.Absent {
		s.bound[x.far] = true
	}
	return nil
}

// distinct returns the nodes that the partial matches have for a node of the pattern.
func (s *search) distinct(node int) []uuid.UUID {
	ids := make([]uuid.UUID, len(s.matches))
	for i := range s.matches {
		ids[i] = s.matches[i].Nodes[node]
	}
	slices.SortFunc(ids, uuids.Compare)
	return slices.Compact(ids)
}
