package retrieval

import (
	"bytes"
	"math"
	"slices"

	"github.com/google/uuid"
)

// Bounds of personalised PageRank. ADR 22 has the reasons.
const (
	// damping is the share of a node's score that goes on over its edges.
	damping = 0.5
	// rankRounds are the rounds of the power iteration: what is left to spread halves
	// with each, and after 24 is 6e-8 of the whole.
	rankRounds = 24
)

// terrain is the part of a graph that a query has walked. Nodes are numbered in the
// order in which they were met.
type terrain struct {
	ids     []uuid.UUID
	number  map[uuid.UUID]int
	depth   []int // edges from the nearest seed
	links   []Link
	linked  map[uuid.UUID]struct{} // edges that are in links
	forward bool                   // edges are walked from source to target
	back    bool                   // edges are walked from target to source
}

func newTerrain(direction Direction) *terrain {
	return &terrain{
		number: map[uuid.UUID]int{}, linked: map[uuid.UUID]struct{}{},
		forward: direction != Incoming, back: direction != Outgoing,
	}
}

// meet numbers a node that is met for the first time.
func (t *terrain) meet(id uuid.UUID, depth int) {
	if _, known := t.number[id]; known {
		return
	}
	t.number[id] = len(t.ids)
	t.ids, t.depth = append(t.ids, id), append(t.depth, depth)
}

// add adds an edge, once.
func (t *terrain) add(l Link) {
	if _, known := t.linked[l.Edge]; known {
		return
	}
	t.linked[l.Edge] = struct{}{}
	t.links = append(t.links, l)
}

// flow is where a node's score goes on to, and which share of it.
type flow struct {
	to    []int32
	share []float64 // of the sum 1
}

// flows are for each node where its score goes, sorted, each once however many edges
// lead there: that two nodes are related in three ways does not make them three times
// as near. An edge from a node to itself leads nowhere.
//
// What much leads to gets less of each, by the logarithm (Adamic and Adar, "Friends and
// neighbors on the Web", 2003): that something is linked to what everything is linked
// to says as little about it as a frequent word.
func (t *terrain) flows() []flow {
	flows := make([]flow, len(t.ids))
	for _, l := range t.links {
		from, to := t.number[l.Source], t.number[l.Target]
		if from == to {
			continue
		}
		if t.forward {
			flows[from].to = append(flows[from].to, int32(to))
		}
		if t.back {
			flows[to].to = append(flows[to].to, int32(from))
		}
	}
	into := make([]int, len(flows))
	for n := range flows {
		slices.Sort(flows[n].to)
		flows[n].to = slices.Compact(flows[n].to)
		for _, to := range flows[n].to {
			into[to]++
		}
	}
	for n := range flows {
		flows[n].divide(into)
	}
	return flows
}

func (f *flow) divide(into []int) {
	f.share = make([]float64, len(f.to))
	sum := 0.0
	for i, to := range f.to {
		f.share[i] = 1 / math.Log(math.E-1+float64(into[to])) // 1 where one thing leads
		sum += f.share[i]
	}
	for i := range f.share {
		f.share[i] /= sum
	}
}

// rank spreads the seeds' weights (one a node, of the sum 1) over the terrain:
// r = (1-d)·s + d·P'r, by so many rounds of the power iteration. What a node without a way on would pass on is lost, which
// changes no order: it would begin anew at the seeds, and scale all alike.
func rank(flows []flow, seeds []float64, rounds int) []float64 {
	ranks, next := slices.Clone(seeds), make([]float64, len(seeds))
	for n := range ranks {
		ranks[n] *= 1 - damping
	}
	for range rounds {
		for n, s := range seeds {
			next[n] = (1 - damping) * s
		}
		for n, r := range ranks {
			if r == 0 {
				continue
			}
			for i, to := range flows[n].to {
				next[to] += damping * r * flows[n].share[i]
			}
		}
		ranks, next = next, ranks
	}
	return ranks
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
