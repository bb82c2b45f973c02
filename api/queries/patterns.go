package queries

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

const (
	// patternBytes is the size of the nodes, and of the edges, after which they end.
	patternBytes = 4 << 20
	// patternSearchBytes is the approximate maximum memory of a search: its partial matches and the edges read.
	patternSearchBytes = 48 << 20
	// patternMemory is the memory of a request.
	patternMemory = patternSearchBytes + bytesPerByte*(2*patternBytes+graphread.FetchItems*(maxNodeBytes+maxEdgeBytes))
)

// patternMatches are the matches of a pattern.
type patternMatches struct {
	Matches   []patternMatch   `json:"matches"`
	Nodes     []graphjson.Node `json:"nodes"`
	Edges     []graphjson.Edge `json:"edges"`
	Total     int              `json:"total"`
	Truncated bool             `json:"truncated"`
}

// patternMatch is a match, or a group of matches.
type patternMatch struct {
	Nodes map[string]uuid.UUID `json:"nodes"` // by name
	// Edges are the ids of the edges of each edge of the pattern, none for an absent one; nil of a group.
	Edges [][]uuid.UUID `json:"edges,omitzero"`
	Count int           `json:"count,omitzero"` // number of matches; only of a group
}

func (a *api) matchPattern(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body patternBody
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	names, q, err := body.query()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	share, err := a.pages.Acquire(ctx, patternMemory)
	if err != nil {
		return err
	}
	defer share.Release()
	found, err := a.Graph.Match(ctx, request.PrincipalOf(ctx).Workspace, q)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, patternMatches{
		Matches: showMatches(names, &found), Nodes: graphjson.OfNodes(found.Nodes), Edges: graphjson.OfEdges(found.Edges),
		Total: found.Total, Truncated: found.Truncated,
	})
	return nil
}

// showMatches returns the matches with the names of their nodes.
func showMatches(names []string, found *graphread.PatternMatches) []patternMatch {
	shown := make([]patternMatch, len(found.Matches))
	for i := range found.Matches {
		m := &found.Matches[i]
		shown[i] = patternMatch{Nodes: make(map[string]uuid.UUID, len(m.Nodes)), Count: m.Count}
		for j, id := range m.Nodes {
			shown[i].Nodes[names[found.Returned[j]]] = id
		}
		if m.Trails == nil {
			continue // it is a group
		}
		shown[i].Edges = make([][]uuid.UUID, len(m.Trails))
		for j, trail := range m.Trails {
			shown[i].Edges[j] = append([]uuid.UUID{}, trail...) // of an absent edge: not nil
		}
	}
	return shown
}
