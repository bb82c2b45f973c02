package queries

import (
	"context"
	"fmt"
	"net/http"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// Limits of a request for a subgraph.
const (
	maxSeeds             = 20
	defaultSubgraphNodes = 100
	maxSubgraphNodes     = 500
	// subgraphBytes is the size of the nodes, and of the edges, after which they end.
	subgraphBytes = 4 << 20
	// subgraphMemory is the memory of a subgraph that is being sent.
	subgraphMemory = bytesPerByte * (2*subgraphBytes + graphread.FetchItems*(maxNodeBytes+maxEdgeBytes))
)

// subgraph is a set of nodes with the edges between them.
type subgraph struct {
	Nodes     []subgraphNode   `json:"nodes"`
	Edges     []graphjson.Edge `json:"edges"`
	Truncated bool             `json:"truncated"`
	// AsOfSequence is the sequence of a subgraph as of a moment.
	AsOfSequence int64 `json:"asOfSequence,omitzero"`
}

type subgraphNode struct {
	Node  graphjson.Node `json:"node"`
	Depth int            `json:"depth"`
}

func (a *api) getSubgraph(w http.ResponseWriter, r *http.Request) error {
	q, err := subgraphQuery(request.Query(r))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	share, err := a.pages.Acquire(ctx, subgraphMemory)
	if err != nil {
		return err
	}
	defer share.Release()
	if q.AsOf.IsSet() {
		history, err := a.past.Acquire(ctx, pastNeighborMemory)
		if err != nil {
			return err
		}
		defer history.Release()
	}
	found, err := a.Graph.Subgraph(ctx, request.PrincipalOf(ctx).Workspace, q)
	if err != nil {
		return err
	}
	shown := subgraph{
		Nodes: make([]subgraphNode, len(found.Nodes)), Edges: graphjson.OfEdges(found.Edges), Truncated: found.Truncated,
		AsOfSequence: found.Sequence,
	}
	for i := range found.Nodes {
		shown.Nodes[i] = subgraphNode{Node: graphjson.OfNode(&found.Nodes[i].Node), Depth: found.Nodes[i].Depth}
	}
	reply.Data(w, r, http.StatusOK, shown)
	return nil
}

// subgraphQuery parses the parameters of a request for a subgraph.
func subgraphQuery(p *request.Params) (graphread.SubgraphQuery, error) {
	seeds := uuids.Distinct(p.UUIDs("nodeId"))
	switch {
	case seeds == nil:
		p.Fail("nodeId", "is required")
	case len(seeds) > maxSeeds:
		p.Fail("nodeId", fmt.Sprintf("has more than %d nodes", maxSeeds))
	}
	direction := p.OneOf("direction", "both", "out", "in", "both")
	q := graphread.SubgraphQuery{
		Seeds: seeds, Depth: p.Int("depth", 1, 0, maxDepth), Out: direction != "in", In: direction != "out",
		RelationTypes: p.Strings("relationType"), EntityTypes: entityTypes(p),
		MaxNodes: p.Int("limit", defaultSubgraphNodes, 1, maxSubgraphNodes), MaxBytes: subgraphBytes, AsOf: moment(p),
	}
	if q.MaxNodes < len(seeds) {
		p.Fail("limit", "must be at least the number of nodeId")
	}
	return q, p.Err()
}
