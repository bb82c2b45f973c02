package retrieval

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
)

// Kinds of reasons, beside those that are lanes.
const (
	reasonNamed = "named"
	reasonStart = "start"
)

const (
	// explainedSeeds is how many seeds' share of each score is computed: the heaviest.
	explainedSeeds = 16
	// mostReasons are told of a hit.
	mostReasons = 5
	// leastShare is what a reason is worth telling for.
	leastShare = 0.01
)

// explanation takes scores apart. Personalised PageRank is linear: what a node has is
// the sum of what each seed alone would give it.
type explanation struct {
	ranking *ranking
	seeds   []uuid.UUID
	parts   map[uuid.UUID][]float64 // of a seed: what came from it to each hit of the page, by place
	place   map[uuid.UUID]int
	direct  map[uuid.UUID]seed
}

func (r *ranking) explain(page []candidate) *explanation {
	x := &explanation{
		ranking: r, parts: map[uuid.UUID][]float64{}, place: map[uuid.UUID]int{}, direct: map[uuid.UUID]seed{},
	}
	for i, c := range page {
		x.place[c.id] = i
	}
	heaviest := slices.Clone(r.seeds)
	for _, s := range heaviest {
		x.direct[s.id] = s
	}
	slices.SortFunc(heaviest, func(a, b seed) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), compareIDs(a.id, b.id))
	})
	for _, s := range heaviest[:min(len(heaviest), explainedSeeds)] {
		from := r.terrain.number[s.id]
		alone := make([]float64, len(r.weights))
		alone[from] = r.weights[from]
		ranks := rank(r.flows, alone, rankRounds)
		parts := make([]float64, len(page))
		for i, c := range page {
			if n, met := r.terrain.number[c.id]; met {
				parts[i] = ranks[n] - (1-damping)*alone[n]
			}
		}
		x.seeds = append(x.seeds, s.id)
		x.parts[s.id] = parts
	}
	return x
}

// of returns the reasons of a hit, the weightiest first.
func (x *explanation) of(c candidate, nodes map[uuid.UUID]graph.Node) []Reason {
	r := x.ranking
	n, met := r.terrain.number[c.id]
	if !met || len(r.ranks) == 0 || r.score(n) == 0 {
		return x.faint(c)
	}
	var reasons []Reason
	if s, ok := x.direct[c.id]; ok {
		own := r.direct(n) / s.weight() / r.score(n)
		reasons = append(reasons,
			Reason{Kind: reasonNamed, Share: own * s.named, Detail: "the query names it"},
			Reason{Kind: reasonStart, Share: own * s.start, Detail: "the query starts at it"})
		if f := c.found; f != nil {
			reasons = append(reasons,
				Reason{Kind: LaneText, Share: own * s.text, Detail: textDetail(f)},
				Reason{Kind: LaneVector, Share: own * s.vector, Detail: vectorDetail(f)})
		}
	}
	for _, from := range x.seeds {
		share := r.query.Weights.Graph * x.parts[from][x.place[c.id]] / r.score(n)
		detail := "its own score, back over edges"
		if from != c.id {
			detail = fmt.Sprintf("linked to %q", nodes[from].Name)
		}
		reasons = append(reasons, Reason{Kind: LaneGraph, From: from, Share: share, Detail: detail})
	}
	reasons = slices.DeleteFunc(reasons, func(reason Reason) bool { return reason.Share < leastShare })
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(b.Share, a.Share) })
	reasons = reasons[:min(len(reasons), mostReasons)]
	for i := range reasons {
		reasons[i].Share = min(reasons[i].Share, 1)
	}
	return reasons
}

// faint are the reasons of what words and meaning found too far down to be a seed.
func (x *explanation) faint(c candidate) (reasons []Reason) {
	if c.found == nil {
		return nil
	}
	w := x.ranking.query.Weights
	whole := c.found.weighed(w) * 2
	if share := w.Text * c.found.words() / max(whole, minNormal); share >= leastShare {
		reasons = append(reasons, Reason{Kind: LaneText, Share: share, Detail: textDetail(c.found)})
	}
	if share := w.Vector * c.found.cosine() / max(whole, minNormal); share >= leastShare {
		reasons = append(reasons, Reason{Kind: LaneVector, Share: share, Detail: vectorDetail(c.found)})
	}
	return reasons
}

func textDetail(f *found) string {
	return fmt.Sprintf("it has %.0f %% of what the query's words weigh", 100*f.words())
}

func vectorDetail(f *found) string {
	return fmt.Sprintf("its meaning is near the query's: cosine %.2f", f.cosine())
}
