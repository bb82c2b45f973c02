package retrieval

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/uuids"
)

// Kinds of reasons, in addition to the lanes.
const (
	reasonNamed = "named"
	reasonStart = "start"
)

const (
	// explainedSeeds is the number of seeds whose share of each score is computed: those
	// with the highest weight.
	explainedSeeds = 16
	// maxReasons is the maximum number of reasons of a hit.
	maxReasons = 5
	// minShare is the minimum share of a reason.
	minShare = 0.01
)

// explanation attributes scores to seeds. Personalised PageRank is linear: the score of a
// node is the sum of the scores that each seed alone would propagate to it.
type explanation struct {
	ranking       *ranking
	seeds         []uuid.UUID
	contributions map[uuid.UUID][]float64 // by seed: its contribution to each hit of the page, by index
	index         map[uuid.UUID]int
	seedByID      map[uuid.UUID]seed
}

func (r *ranking) explain(page []candidate) *explanation {
	x := &explanation{
		ranking: r, contributions: map[uuid.UUID][]float64{}, index: map[uuid.UUID]int{}, seedByID: map[uuid.UUID]seed{},
	}
	for i, c := range page {
		x.index[c.id] = i
	}
	heaviest := slices.Clone(r.seeds)
	for _, s := range heaviest {
		x.seedByID[s.id] = s
	}
	slices.SortFunc(heaviest, func(a, b seed) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), uuids.Compare(a.id, b.id))
	})
	for _, s := range heaviest[:min(len(heaviest), explainedSeeds)] {
		from := r.subgraph.index[s.id]
		single := make([]float64, len(r.weights))
		single[from] = r.weights[from]
		ranks := rank(r.transitions, single, rankRounds)
		contributions := make([]float64, len(page))
		for i, c := range page {
			if n, ok := r.subgraph.index[c.id]; ok {
				contributions[i] = ranks[n] - (1-damping)*single[n]
			}
		}
		x.seeds = append(x.seeds, s.id)
		x.contributions[s.id] = contributions
	}
	return x
}

// reasons returns the reasons of a hit, those with the highest share first.
func (x *explanation) reasons(c candidate, nodes map[uuid.UUID]graph.Node) []Reason {
	r := x.ranking
	n, known := r.subgraph.index[c.id]
	if !known || len(r.ranks) == 0 || r.score(n) == 0 {
		return x.laneReasons(c)
	}
	var reasons []Reason
	if s, ok := x.seedByID[c.id]; ok {
		directShare := r.directScore(n) / s.weight() / r.score(n)
		reasons = append(reasons,
			Reason{Kind: reasonNamed, Share: directShare * s.named, Detail: "the query names it"},
			Reason{Kind: reasonStart, Share: directShare * s.start, Detail: "the query starts at it"})
		if f := c.finding; f != nil {
			reasons = append(reasons,
				Reason{Kind: LaneText, Share: directShare * s.text, Detail: textDetail(f)},
				Reason{Kind: LaneVector, Share: directShare * s.vector, Detail: vectorDetail(f)})
		}
	}
	for _, from := range x.seeds {
		share := r.query.Weights.Graph * x.contributions[from][x.index[c.id]] / r.score(n)
		detail := "its own score, returned over edges"
		if from != c.id {
			detail = fmt.Sprintf("linked to %q", nodes[from].Name)
		}
		reasons = append(reasons, Reason{Kind: LaneGraph, From: from, Share: share, Detail: detail})
	}
	reasons = slices.DeleteFunc(reasons, func(reason Reason) bool { return reason.Share < minShare })
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(b.Share, a.Share) })
	reasons = reasons[:min(len(reasons), maxReasons)]
	for i := range reasons {
		reasons[i].Share = min(reasons[i].Share, 1)
	}
	return reasons
}

// laneReasons returns the reasons of a hit that a lane ranked too low to be a seed.
func (x *explanation) laneReasons(c candidate) (reasons []Reason) {
	if c.finding == nil {
		return nil
	}
	w := x.ranking.query.Weights
	total := c.finding.weightedScore(w) * 2
	if share := w.Text * c.finding.textScore() / max(total, minNormal); share >= minShare {
		reasons = append(reasons, Reason{Kind: LaneText, Share: share, Detail: textDetail(c.finding)})
	}
	if share := w.Vector * c.finding.vectorScore() / max(total, minNormal); share >= minShare {
		reasons = append(reasons, Reason{Kind: LaneVector, Share: share, Detail: vectorDetail(c.finding)})
	}
	return reasons
}

func textDetail(f *finding) string {
	return fmt.Sprintf("it matches %.0f %% of the query's words by weight", 100*f.textScore())
}

func vectorDetail(f *finding) string {
	return fmt.Sprintf("its meaning is similar to the query's: cosine %.2f", f.vectorScore())
}
