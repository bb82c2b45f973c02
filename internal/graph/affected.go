package graph

import "github.com/google/uuid"

// Affected is the set of resources that a change touched: of each kind the first ids, at
// most [MaxListed], and the number of all.
type Affected struct {
	Nodes, Edges         []uuid.UUID
	NodeCount, EdgeCount int64
}

// Affected returns the resources that the change touched.
func (c *Change) Affected() Affected { return AffectedBy(c.Steps) }

// AffectedBy returns the resources that steps touched, each once. An edge of a cascade
// that the cascade does not list cannot be compared with the edges of other steps, and is
// counted as a distinct edge.
func AffectedBy(steps []Step) Affected {
	nodes, edges := listing{}, listing{}
	unlisted := int64(0)
	for i := range steps {
		step := &steps[i]
		if step.Node != nil {
			nodes.add(step.Node.ID)
		}
		if step.Edge != nil {
			edges.add(step.Edge.ID)
		}
		if step.Cascade != nil {
			for _, id := range step.Cascade.Edges {
				edges.add(id)
			}
			unlisted += step.Cascade.Count - int64(len(step.Cascade.Edges))
		}
	}
	return Affected{
		Nodes: nodes.first, NodeCount: nodes.count(), Edges: edges.first, EdgeCount: edges.count() + unlisted,
	}
}

// listing counts distinct ids and keeps the first MaxListed of them.
type listing struct {
	first []uuid.UUID
	seen  map[uuid.UUID]struct{} // nil while there is at most one id
}

func (l *listing) add(id uuid.UUID) {
	switch {
	case len(l.first) == 0:
		l.first = []uuid.UUID{id}
		return
	case l.seen == nil && l.first[0] == id:
		return
	case l.seen == nil:
		l.seen = map[uuid.UUID]struct{}{l.first[0]: {}}
	}
	if _, ok := l.seen[id]; ok {
		return
	}
	l.seen[id] = struct{}{}
	if len(l.first) < MaxListed {
		l.first = append(l.first, id)
	}
}

func (l *listing) count() int64 { return int64(max(len(l.seen), len(l.first))) }
