package retrieval

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// Bounds of personalised PageRank. ADR 22 has the reasons.
const (
	// damping is the share of a node's score that goes on over its edges.
	damping = 0.5
	// rankRounds are the rounds of the power iteration: what is left to spread halves
	// with each, and after 24 is below a 64-bit hash of noise: 6e-8 of the whole.
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

// meet gives a node's number, a new one if it is met for the first time.
func (t *terrain) meet(id uuid.UUID, depth int) int {
	n, known := t.number[id]
	if !known {
		n = len(t.ids)
		t.number[id] = n
		t.ids, t.depth = append(t.ids, id), append(t.depth, depth)
	}
	return n
}

// add adds an edge; false: it is there already.
func (t *terrain) add(l Link) bool {
	if _, known := t.linked[l.Edge]; known {
		return false
	}
	t.linked[l.Edge] = struct{}{}
	t.links = append(t.links, l)
	return true
}

// ways are for each node those that its score goes on to, sorted, each once however
// many edges lead there: that two nodes are related in three ways does not make them
// three times as near. An edge from a node to itself leads nowhere.
func (t *terrain) ways() [][]int32 {
	ways := make([][]int32, len(t.ids))
	for _, l := range t.links {
		from, to := t.number[l.Source], t.number[l.Target]
		if from == to {
			continue
		}
		if t.forward {
			ways[from] = append(ways[from], int32(to))
		}
		if t.back {
			ways[to] = append(ways[to], int32(from))
		}
	}
	for n := range ways {
		slices.Sort(ways[n])
		ways[n] = slices.Compact(ways[n])
	}
	return ways
}

// rank spreads the seeds' weights (one a node, of the sum 1) over the terrain:
// r = (1-d)·s + d·P'r, P evenly over a node's ways. What a node without any would pass
// on is lost, which changes no order: it would begin anew at the seeds, and scale all
// alike.
func rank(ways [][]int32, seeds []float64) []float64 {
	ranks, next := slices.Clone(seeds), make([]float64, len(seeds))
	for n := range ranks {
		ranks[n] *= 1 - damping
	}
	for range rankRounds {
		for n, s := range seeds {
			next[n] = (1 - damping) * s
		}
		for n, r := range ranks {
			if r == 0 || len(ways[n]) == 0 {
				continue
			}
			share := damping * r / float64(len(ways[n]))
			for _, to := range ways[n] {
				next[to] += share
			}
		}
		ranks, next = next, ranks
	}
	return ranks
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
