package analysis

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
)

// Algorithm is what is computed.
type Algorithm string

// The algorithms.
const (
	DegreeAlgorithm      Algorithm = "degree"
	PageRankAlgorithm    Algorithm = "pagerank"
	ComponentsAlgorithm  Algorithm = "components"
	CommunitiesAlgorithm Algorithm = "communities"
)

// Algorithms returns the names of all algorithms.
func Algorithms() []string {
	return []string{
		string(DegreeAlgorithm), string(PageRankAlgorithm), string(ComponentsAlgorithm), string(CommunitiesAlgorithm),
	}
}

// Spec specifies an analysis.
type Spec struct {
	Algorithm Algorithm `json:"algorithm"`
	// EntityTypes and RelationTypes select nodes, and edges between them; empty: all.
	EntityTypes   []string `json:"entityTypes"`
	RelationTypes []string `json:"relationTypes"`
	// Weight is the property of edges that is their weight; nil: each edge has weight 1.
	Weight *string `json:"weight"`
	// Direction selects the edges for degree and PageRank; nil for the other algorithms.
	Direction *Direction `json:"direction"`
	// Damping is that of PageRank; nil for the other algorithms.
	Damping *float64 `json:"damping"`
	// Property is the property of nodes to which the results are written; nil: they are not written.
	Property *string `json:"property"`
}

// maxListed is the maximum number of nodes and of groups in a Result.
const maxListed = 100

// Result is the summary of an analysis.
type Result struct {
	// Top has the nodes with the highest values, for degree and PageRank.
	Top []RankedNode `json:"top"`
	// Groups has the largest components or communities, and GroupCount the number of all.
	Groups     []Group `json:"groups"`
	GroupCount *int    `json:"groupCount"`
	// Iterations and Converged are those of PageRank.
	Iterations *int  `json:"iterations"`
	Converged  *bool `json:"converged"`
	// Modularity is that of the communities.
	Modularity *float64 `json:"modularity"`
}

// RankedNode is a node and its value.
type RankedNode struct {
	NodeID uuid.UUID `json:"nodeId"`
	Value  float64   `json:"value"`
}

// Group is a component or a community.
type Group struct {
	Group  int       `json:"group"`  // its number
	Size   int       `json:"size"`   // number of nodes
	NodeID uuid.UUID `json:"nodeId"` // the node with the lowest id
}

// Run computes an analysis of a graph. It returns the value of each node: its degree, its rank, or the number of its
// group.
func Run(ctx context.Context, g *Graph, spec *Spec) (values []float64, result Result, err error) {
	result = Result{Top: []RankedNode{}, Groups: []Group{}}
	switch spec.Algorithm {
	case DegreeAlgorithm:
		values = Degrees(g, *spec.Direction)
		result.Top = top(g, values)
	case PageRankAlgorithm:
		ranking, err := PageRank(ctx, g, *spec.Direction, *spec.Damping)
		if err != nil {
			return nil, Result{}, err
		}
		values = ranking.Ranks
		result.Top, result.Iterations, result.Converged = top(g, values), &ranking.Iterations, &ranking.Converged
	case ComponentsAlgorithm:
		values = result.list(g, Components(g))
	case CommunitiesAlgorithm:
		groups, err := Communities(ctx, g)
		if err != nil {
			return nil, Result{}, err
		}
		modularity := Modularity(g, groups)
		values, result.Modularity = result.list(g, groups), &modularity
	}
	return values, result, context.Cause(ctx)
}

// top returns the nodes with the highest values, and of equal ones those with the lowest ids.
func top(g *Graph, values []float64) []RankedNode {
	order := make([]int32, len(values))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(values[b], values[a]) })
	listed := make([]RankedNode, min(len(order), maxListed))
	for i := range listed {
		listed[i] = RankedNode{NodeID: g.IDs[order[i]], Value: values[order[i]]}
	}
	return listed
}

// list adds groups to the result, and returns the number of the group of each node.
func (r *Result) list(g *Graph, groups Groups) (values []float64) {
	count := len(groups.Sizes)
	r.GroupCount, r.Groups = &count, make([]Group, min(count, maxListed))
	values = make([]float64, len(groups.Of))
	for i := len(groups.Of) - 1; i >= 0; i-- {
		group := int(groups.Of[i])
		values[i] = float64(group)
		if group < len(r.Groups) {
			r.Groups[group] = Group{Group: group, Size: groups.Sizes[group], NodeID: g.IDs[i]}
		}
	}
	return values
}
