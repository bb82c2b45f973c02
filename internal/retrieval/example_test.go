package retrieval_test

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// plant is a workspace of two nodes. The lanes find only the pump, and the pump feeds the
// boiler.
type plant struct{ pump, boiler, feeds uuid.UUID }

func (p *plant) SearchText(
	context.Context, uuid.UUID, string, retrieval.Filter, int, int,
) (retrieval.TextFindings, error) {
	return retrieval.TextFindings{Hits: []retrieval.TextHit{{Node: p.pump, Score: 3.2, NormalisedScore: 0.9}}}, nil
}

func (p *plant) LiveIndex(context.Context) (retrieval.Index, error) {
	return retrieval.Index{Collection: "live", Model: embed.NewStatic().Model()}, nil
}

func (p *plant) Nearest(
	context.Context, retrieval.Index, uuid.UUID, embed.Vector, retrieval.VectorFilter, int,
) ([]retrieval.VectorHit, error) {
	return []retrieval.VectorHit{{Node: p.pump, Cosine: 0.7}}, nil
}

func (p *plant) ReadNodes(
	context.Context, uuid.UUID, []uuid.UUID, retrieval.Filter,
) (map[uuid.UUID]graph.Node, error) {
	return map[uuid.UUID]graph.Node{p.pump: {ID: p.pump, Name: "pump"}, p.boiler: {ID: p.boiler, Name: "boiler"}}, nil
}

func (p *plant) FilterNodes(_ context.Context, _ uuid.UUID, ids []uuid.UUID, _ retrieval.Filter) ([]uuid.UUID, error) {
	return ids, nil
}

func (p *plant) MatchingNodes(context.Context, uuid.UUID, retrieval.Filter, int) ([]uuid.UUID, bool, error) {
	return nil, false, nil
}

func (p *plant) DocumentParts(
	context.Context, uuid.UUID, []uuid.UUID,
) (map[uuid.UUID]retrieval.DocumentPart, error) {
	return nil, nil
}

func (p *plant) ReadMarks(context.Context, uuid.UUID, []uuid.UUID) (map[uuid.UUID]graph.Node, error) {
	return nil, nil
}

func (p *plant) WalkEdges(context.Context, uuid.UUID, retrieval.Step) (retrieval.WalkResult, error) {
	return retrieval.WalkResult{Edges: []retrieval.Link{{Edge: p.feeds, Source: p.pump, Target: p.boiler}}}, nil
}

func (p *plant) ReadEdges(context.Context, uuid.UUID, []uuid.UUID) (map[uuid.UUID]graph.Edge, error) {
	return map[uuid.UUID]graph.Edge{p.feeds: {
		ID: p.feeds, SourceID: p.pump, TargetID: p.boiler, RelationType: "feeds",
	}}, nil
}

func ExampleEngine_Hybrid() {
	p := &plant{uuid.New(), uuid.New(), uuid.New()}
	engine := retrieval.New(retrieval.Deps{Text: p, Vectors: p, Graph: p, Embedder: embed.NewQueries(embed.QueryOptions{
		Embedder: embed.NewStatic(),
	})})
	result, err := engine.Hybrid(context.Background(), retrieval.HybridQuery{
		Query: retrieval.Query{Text: "what does the pump supply?", Limit: 10},
		Hops:  1, Direction: retrieval.AnyDirection, Weights: retrieval.DefaultWeights(), Explain: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hit := range result.Hits {
		fmt.Println(hit.Node.Name, len(hit.Path), hit.Reasons[0].Kind, hit.Reasons[0].Detail)
	}
	// Output:
	// pump 0 text it matches 90 % of the query's words by weight
	// boiler 1 graph linked to "pump"
}
