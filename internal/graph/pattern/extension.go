package pattern

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// extension extends partial matches by one edge of the pattern, from the near end, which they have, to the far end.
type extension struct {
	*search
	edge      int // of the pattern
	near, far int
	out, in   bool // directions to follow from the near end
	backwards bool // the near end is To
	farBound  bool // partial matches have the far end, too

	steps    map[uuid.UUID][]Step // of the nodes whose edges were read
	complete map[uuid.UUID]bool   // nodes all whose edges were read
	selected map[uuid.UUID]bool   // nodes that meet the conditions of the far end, unless that is bound
	missed   bool                 // whether matches may be missing because of a limit
}

// read reads the edges that trails may follow, one distance from the near ends after the other.
func (x *extension) read(ctx context.Context) error {
	e := &x.pattern.Edges[x.edge]
	x.steps, x.complete = map[uuid.UUID][]Step{}, map[uuid.UUID]bool{}
	ends := map[uuid.UUID]bool{}
	frontier := x.distinct(x.near)
	for length := 1; length <= e.MaxLength && len(frontier) > 0; length++ {
		if err := x.readSteps(ctx, frontier, e.RelationTypes); err != nil {
			return err
		}
		next := map[uuid.UUID]bool{}
		for _, node := range frontier {
			for _, step := range x.steps[node] {
				next[step.To] = true
			}
		}
		frontier = slices.SortedFunc(maps.Keys(next), uuids.Compare)
		if length >= e.MinLength {
			maps.Copy(ends, next)
		}
	}
	if x.farBound {
		return nil
	}
	selected, err := x.reader.Select(ctx, x.far, slices.SortedFunc(maps.Keys(ends), uuids.Compare))
	x.selected = make(map[uuid.UUID]bool, len(selected))
	for _, id := range selected {
		x.selected[id] = true
	}
	return err
}

// readSteps reads the edges of nodes that were not read before.
func (x *extension) readSteps(ctx context.Context, nodes []uuid.UUID, relationTypes []string) error {
	unread := slices.DeleteFunc(slices.Clone(nodes), func(id uuid.UUID) bool {
		_, known := x.steps[id]
		return known
	})
	left := x.limits.Edges - x.edgesRead
	if len(unread) == 0 || left <= 0 {
		return nil
	}
	steps, complete, err := x.reader.Steps(ctx, Read{
		Nodes: unread, Out: x.out, In: x.in, RelationTypes: relationTypes, Limit: left,
	})
	if err != nil {
		return err
	}
	x.edgesRead += len(steps)
	for _, id := range unread {
		x.steps[id] = nil
	}
	for _, step := range steps {
		x.steps[step.From] = append(x.steps[step.From], step)
	}
	for _, id := range complete {
		x.complete[id] = true
	}
	return nil
}

// apply appends the extended matches of a partial match.
func (x *extension) apply(extended []Match, m *Match) []Match {
	e := &x.pattern.Edges[x.edge]
	w := &trailWalk{extension: x, match: m, min: e.MinLength, max: e.MaxLength}
	if e.Absent {
		if w.from(m.Nodes[x.near], func(uuid.UUID) bool { return false }); w.found == 0 && !w.missed {
			extended = append(extended, *m)
		}
		x.missed = x.missed || (w.found == 0 && w.missed)
		return extended
	}
	w.from(m.Nodes[x.near], func(end uuid.UUID) bool {
		if len(extended) >= x.limits.Matches {
			w.missed = true
			return false
		}
		extended = append(extended, x.extended(m, end, w.trail))
		return true
	})
	x.missed = x.missed || w.missed
	return extended
}

// extended returns a copy of a partial match with a trail.
func (x *extension) extended(m *Match, end uuid.UUID, trail []uuid.UUID) Match {
	n := Match{Nodes: slices.Clone(m.Nodes), Trails: slices.Clone(m.Trails)}
	n.Nodes[x.far] = end
	n.Trails[x.edge] = slices.Clone(trail)
	if x.backwards {
		slices.Reverse(n.Trails[x.edge])
	}
	return n
}

// trailWalk walks the trails that extend a partial match.
type trailWalk struct {
	*extension
	match    *Match
	min, max int
	trail    []uuid.UUID
	found    int
	missed   bool // whether trails may be missing because of a limit
}

// from walks the trails that begin at a node, and passes the end of each to visit until that returns false.
func (w *trailWalk) from(node uuid.UUID, visit func(end uuid.UUID) bool) bool {
	if len(w.trail) >= w.min && w.isEnd(node) {
		w.found++
		if !visit(node) {
			return false
		}
	}
	if len(w.trail) == w.max {
		return true
	}
	w.missed = w.missed || !w.complete[node]
	for _, step := range w.steps[node] {
		if w.work >= w.limits.Work {
			w.missed = true
			return false
		}
		w.work++
		if w.isUsed(step.Edge) {
			continue
		}
		w.trail = append(w.trail, step.Edge)
		goOn := w.from(step.To, visit)
		w.trail = w.trail[:len(w.trail)-1]
		if !goOn {
			return false
		}
	}
	return true
}

// isEnd reports whether a trail may end at a node.
func (w *trailWalk) isEnd(node uuid.UUID) bool {
	if w.farBound {
		return w.match.Nodes[w.far] == node
	}
	return w.selected[node]
}

// isUsed reports whether the match has an edge already. Absent trails may use the edges of the match.
func (w *trailWalk) isUsed(edge uuid.UUID) bool {
	if slices.Contains(w.trail, edge) {
		return true
	}
	return !w.pattern.Edges[w.edge].Absent &&
		slices.ContainsFunc(w.match.Trails, func(trail []uuid.UUID) bool { return slices.Contains(trail, edge) })
}
