package queries

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph/pattern"
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
	// Edges are the ids of the edges of each edge of the pattern, nil for absent edges; only of a match.
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
		Matches: showMatches(names, &q, &found), Nodes: graphjson.OfNodes(found.Nodes), Edges: graphjson.OfEdges(found.Edges),
		Total: found.Total, Truncated: found.Truncated,
	})
	return nil
}

// showMatches returns the matches or groups with the names of their nodes.
func showMatches(names []string, q *graphread.PatternQuery, found *graphread.PatternMatches) []patternMatch {
	shown := make([]patternMatch, 0, len(found.Matches)+len(found.Groups))
	for i := range found.Matches {
		m := &found.Matches[i]
		nodes := make(map[string]uuid.UUID, len(names))
		for node, id := range m.Nodes {
			if id != uuid.Nil || q.Pattern.Required()[node] {
				nodes[names[node]] = id
			}
		}
		shown = append(shown, patternMatch{Nodes: nodes, Edges: showTrails(m, &q.Pattern)})
	}
	for i := range found.Groups {
		g := &found.Groups[i]
		nodes := make(map[string]uuid.UUID, len(g.Nodes))
		for j, id := range g.Nodes {
			nodes[names[q.Return[j]]] = id
		}
		shown = append(shown, patternMatch{Nodes: nodes, Count: g.Count})
	}
	return shown
}

// showTrails returns the ids of the edges of a match. An absent edge has none.
func showTrails(m *pattern.Match, p *pattern.Pattern) [][]uuid.UUID {
	trails := make([][]uuid.UUID, len(p.Edges))
	for i := range p.Edges {
		if trails[i] = m.Trails[i]; trails[i] == nil {
			trails[i] = []uuid.UUID{}
		}
	}
	return trails
}
