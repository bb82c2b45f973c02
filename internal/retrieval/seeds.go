package retrieval

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

const (
	// laneSeeds is how many of a lane's best nodes are seeds.
	laneSeeds = 10
	// fullSeed is the weight of a name in the query, shared among the nodes that have it,
	// and of a node that the query starts at.
	fullSeed = 1.0
	// mostCalled is how many names of full weight all that are named weigh at most
	// together: a list of names means none of them in particular.
	mostCalled = 10
)

// seed is a node that score spreads from, and what makes it one.
type seed struct {
	id                         uuid.UUID
	named, start, text, vector float64
}

func (s *seed) weight() float64 { return s.named + s.start + s.text + s.vector }

// seeds are the nodes that score spreads from, sorted by id. A lane's weight of a node
// is the square of where it stands between the lane's best and the first that is no
// seed, so that few stand out, times how good the best is: the best of a bad lot says
// little. Without weights for words and meaning both, all are sought as with full ones:
// there must be somewhere to begin.
func (f *findings) seeds(q *HybridQuery) []seed {
	w := q.sought()
	words, meaning := w.Text, w.Vector
	at := map[uuid.UUID]*seed{}
	of := func(id uuid.UUID) *seed {
		if at[id] == nil {
			at[id] = &seed{id: id}
		}
		return at[id]
	}
	standing := map[uuid.UUID]struct{}{}
	called := 0.0
	for _, n := range f.nodes {
		standing[n.id] = struct{}{}
		called += n.named
	}
	for _, n := range f.nodes {
		if n.named > 0 && words > 0 {
			of(n.id).named = words * fullSeed * n.named * min(1, mostCalled/called)
		}
	}
	for _, id := range q.Starts {
		if _, ok := standing[id]; ok {
			of(id).start = fullSeed
		}
	}
	best := f.best(func(n *found) float64 { return n.share })
	if len(best) > 0 {
		spread(best, func(n *found) float64 {
			return n.share
		}, words*min(best[0].share, 1), func(id uuid.UUID, w float64) { of(id).text = w })
	}
	best = f.best((*found).cosine)
	if len(best) > 0 {
		spread(best, (*found).cosine, meaning*best[0].cosine(), func(id uuid.UUID, w float64) { of(id).vector = w })
	}
	list := make([]seed, 0, len(at))
	for _, s := range at {
		if s.weight() > 0 {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b seed) int { return compareIDs(a.id, b.id) })
	return list
}

// sought are the weights that it is sought by where the walk begins: without any for
// words and meaning, full ones.
func (q *HybridQuery) sought() Weights {
	w := q.Weights
	if w.Text == 0 && w.Vector == 0 {
		w.Text, w.Vector = 1, 1
	}
	return w
}

// best lists what a lane found, best first, and one more than can be seeds.
func (f *findings) best(score func(*found) float64) []*found {
	var list []*found
	for i := range f.nodes {
		if score(&f.nodes[i]) > 0 {
			list = append(list, &f.nodes[i])
		}
	}
	slices.SortFunc(list, func(a, b *found) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), compareIDs(a.id, b.id))
	})
	return list[:min(len(list), laneSeeds+1)]
}

// spread sets the weights of the seeds of a lane.
func spread(best []*found, score func(*found) float64, weight float64, give func(uuid.UUID, float64)) {
	if len(best) == 0 {
		return
	}
	low := 0.0
	if len(best) > laneSeeds {
		low = score(best[laneSeeds])
	}
	high := score(best[0])
	for _, n := range best[:min(len(best), laneSeeds)] {
		place := 1.0 // all alike
		if high > low {
			place = (score(n) - low) / (high - low)
		}
		give(n.id, weight*place*place)
	}
}
