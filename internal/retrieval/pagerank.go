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
	links   []way
	linked  map[uuid.UUID]struct{} // edges that are in links
	forward bool                   // edges are walked from source to target
	back    bool                   // edges are walked from target to source
}

// way is an edge between two nodes by their numbers, which are looked up once: there
// are ten thousand edges, and each is looked at many times.
type way struct {
	edge     uuid.UUID
	from, to int
}

func newTerrain(direction Direction) *terrain {
	return &terrain{
		number: map[uuid.UUID]int{}, linked: map[uuid.UUID]struct{}{},
		forward: direction != Incoming, back: direction != Outgoing,
	}
}

// meet returns the number of a node, which is met now or was before.
func (t *terrain) meet(id uuid.UUID, depth int) int {
	if n, known := t.number[id]; known {
		return n
	}
	n := len(t.ids)
	t.number[id] = n
	t.ids, t.depth = append(t.ids, id), append(t.depth, depth)
	return n
}

// add adds an edge, once, and its ends, if they are met now, at a distance.
func (t *terrain) add(l Link, depth int) {
	if _, known := t.linked[l.Edge]; known {
		return
	}
	t.linked[l.Edge] = struct{}{}
	t.links = append(t.links, way{edge: l.Edge, from: t.meet(l.Source, depth), to: t.meet(l.Target, depth)})
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
	t.lay(flows)
	into := make([]int, len(flows))
	for n := range flows {
		slices.Sort(flows[n].to)
		flows[n].to = slices.Compact(flows[n].to)
		for _, to := range flows[n].to {
			into[to]++
		}
	}
	weights := make([]float64, len(flows))
	for n, count := range into {
		weights[n] = 1 / math.Log(math.E-1+float64(count)) // 1 where one thing leads
	}
	for n := range flows {
		flows[n].divide(weights)
	}
	return flows
}

// lay allocates room for where each node's score goes, in one piece for all, and notes it.
func (t *terrain) lay(flows []flow) {
	counts := make([]int, len(flows))
	each := func(see func(from, to int)) {
		for i := range t.links {
			l := &t.links[i]
			if l.from == l.to {
				continue
			}
			if t.forward {
				see(l.from, l.to)
			}
			if t.back {
				see(l.to, l.from)
			}
		}
	}
	all := 0
	each(func(from, _ int) { counts[from]++; all++ })
	to, share := make([]int32, all), make([]float64, all)
	for n, count := range counts {
		flows[n] = flow{to: to[:0:count], share: share[:0:count]}
		to, share = to[count:], share[count:]
	}
	each(func(from, to int) { flows[from].to = append(flows[from].to, int32(to)) })
}

// divide shares out what a node has, by what each weighs to which it leads.
func (f *flow) divide(weights []float64) {
	sum := 0.0
	for _, to := range f.to {
		f.share = append(f.share, weights[to])
		sum += weights[to]
	}
	for i := range f.share {
		f.share[i] /= sum
	}
}

// rank spreads the seeds' weights (one a node, of the sum 1) over the terrain:
// r = (1-d)·s + d·P'r, by so many rounds of the power iteration. What a node without a way on would pass on
// is lost, which changes no order: it would begin again at the seeds, and scale all alike.
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
