package queries

import (
	"context"
	"net/http"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// Limits of the number of types in a response with counts.
const (
	defaultCountedTypes = 50
	maxCountedTypes     = 100
)

// graphCounts are the numbers of nodes and edges by type. Without the scope to read them they are absent.
type graphCounts struct {
	Sequence int64       `json:"sequence"`
	Nodes    *typeCounts `json:"nodes,omitzero"`
	Edges    *typeCounts `json:"edges,omitzero"`
}

// typeCounts are the numbers of nodes or edges by type, with the most frequent types first.
type typeCounts struct {
	Total      int64       `json:"total"`
	Types      []typeCount `json:"types"`
	OtherTypes int64       `json:"otherTypes"` // number of the types that are not listed
	OtherCount int64       `json:"otherCount"` // number of nodes or edges of these
}

type typeCount struct {
	Type  string `json:"type"`
	Count int64  `json:"count"`
}

func (a *api) getCounts(w http.ResponseWriter, r *http.Request) error {
	principal := request.PrincipalOf(r.Context())
	p := request.Query(r)
	limit := p.Int("limit", defaultCountedTypes, 1, maxCountedTypes)
	if err := p.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	found, err := a.Graph.Counts(ctx, principal.Workspace, limit)
	if err != nil {
		return err
	}
	counts := graphCounts{Sequence: found.Sequence}
	if principal.May(request.ReadNodes) {
		counts.Nodes = showCounts(&found.Nodes)
	}
	if principal.May(request.ReadEdges) {
		counts.Edges = showCounts(&found.Edges)
	}
	reply.Data(w, r, http.StatusOK, counts)
	return nil
}

func showCounts(c *graphread.TypeCounts) *typeCounts {
	shown := &typeCounts{
		Total: c.Total, Types: make([]typeCount, len(c.Most)), OtherTypes: c.Types - int64(len(c.Most)), OtherCount: c.Total,
	}
	for i, t := range c.Most {
		shown.Types[i] = typeCount{Type: t.Type, Count: t.Count}
		shown.OtherCount -= t.Count
	}
	return shown
}
