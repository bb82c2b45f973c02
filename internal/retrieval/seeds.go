package retrieval

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/uuids"
)

const (
	// laneSeeds is the maximum number of seeds per lane: its best nodes.
	laneSeeds = 10
	// fullSeed is the weight of a name in the query, shared among the nodes that have it,
	// and the weight of a node of Starts.
	fullSeed = 1.0
	// maxNamedWeight is the maximum total weight of all named nodes, in names of full
	// weight: a query that lists many names is about none of them in particular.
	maxNamedWeight = 10
)

// seed is a node from which score is propagated, with its weight by source.
type seed struct {
	id                         uuid.UUID
	named, start, text, vector float64
}

func (s *seed) weight() float64 { return s.named + s.start + s.text + s.vector }

// seeds returns the nodes from which score is propagated, sorted by id. The weight of a
// node in a lane is the square of its position between the best node of the lane and the
// first that is not a seed, so that few nodes dominate, multiplied by the score of the best
// node, so that a lane with only poor matches has little weight. If the weights of both
// lanes are 0, both count fully: the walk requires seeds.
func (f *findings) seeds(q *HybridQuery) []seed {
	w := q.laneWeights()
	textWeight, vectorWeight := w.Text, w.Vector
	byID := map[uuid.UUID]*seed{}
	get := func(id uuid.UUID) *seed {
		if byID[id] == nil {
			byID[id] = &seed{id: id}
		}
		return byID[id]
	}
	known := map[uuid.UUID]struct{}{}
	namedTotal := 0.0
	for _, n := range f.nodes {
		known[n.id] = struct{}{}
		namedTotal += n.named
	}
	for _, n := range f.nodes {
		if n.named > 0 && textWeight > 0 {
			get(n.id).named = textWeight * fullSeed * n.named * min(1, maxNamedWeight/namedTotal)
		}
	}
	for _, id := range q.Starts {
		if _, ok := known[id]; ok {
			get(id).start = fullSeed
		}
	}
	best := f.best(func(n *finding) float64 { return n.share })
	if len(best) > 0 {
		assignWeights(best, func(n *finding) float64 {
			return n.share
		}, textWeight*min(best[0].share, 1), func(id uuid.UUID, w float64) { get(id).text = w })
	}
	best = f.best((*finding).vectorScore)
	if len(best) > 0 {
		weight := vectorWeight * best[0].vectorScore()
		assignWeights(best, (*finding).vectorScore, weight, func(id uuid.UUID, w float64) { get(id).vector = w })
	}
	list := make([]seed, 0, len(byID))
	for _, s := range byID {
		if s.weight() > 0 {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b seed) int { return uuids.Compare(a.id, b.id) })
	return list
}

// laneWeights returns the weights with which the seeds are searched: if those of the text
// and vector lanes are both 0, it sets both to 1.
func (q *HybridQuery) laneWeights() Weights {
	w := q.Weights
	if w.Text == 0 && w.Vector == 0 {
		w.Text, w.Vector = 1, 1
	}
	return w
}

// best returns the nodes that a lane found, best first, at most laneSeeds and one more.
func (f *findings) best(score func(*finding) float64) []*finding {
	var list []*finding
	for i := range f.nodes {
		if score(&f.nodes[i]) > 0 {
			list = append(list, &f.nodes[i])
		}
	}
	slices.SortFunc(list, func(a, b *finding) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), uuids.Compare(a.id, b.id))
	})
	return list[:min(len(list), laneSeeds+1)]
}

// assignWeights calls set with the weight of each seed of a lane.
func assignWeights(best []*finding, score func(*finding) float64, weight float64, set func(uuid.UUID, float64)) {
	if len(best) == 0 {
		return
	}
	low := 0.0
	if len(best) > laneSeeds {
		low = score(best[laneSeeds])
	}
	high := score(best[0])
	for _, n := range best[:min(len(best), laneSeeds)] {
		position := 1.0 // all scores are equal
		if high > low {
			position = (score(n) - low) / (high - low)
		}
		set(n.id, weight*position*position)
	}
}
