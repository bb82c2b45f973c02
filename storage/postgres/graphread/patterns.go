package graphread

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/pattern"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/storage/postgres"
)

// PatternQuery selects the matches of a pattern.
type PatternQuery struct {
	Pattern pattern.Pattern
	Nodes   []NodeFilter // by node of the pattern
	// Return has the nodes of the pattern by which matches are grouped and counted; nil: matches are returned one by one.
	Return []int
	Limit  int // maximum number of matches or groups that are returned
	// MaxBytes is the approximate maximum size of the nodes, and of the edges.
	MaxBytes int
}

// PatternMatches are the matches of a pattern.
type PatternMatches struct {
	Returned []int // the nodes of the pattern that matches have, in order
	Matches  []PatternMatch
	Total    int          // number of matches that were found
	Nodes    []graph.Node // of the matches, each once, sorted by id
	Edges    []graph.Edge // of the matches, each once, sorted by id
	// Truncated reports that matches may be missing, because a limit of the search or MaxBytes was reached.
	Truncated bool
}

// PatternMatch is a match, or a group of matches.
type PatternMatch struct {
	Nodes  []uuid.UUID   // in the order of Returned
	Trails [][]uuid.UUID // see pattern.Match; nil for a group
	Count  int           // number of matches of a group; 0 for a match
}

// Match finds the matches of a pattern.
func (db *Store) Match(ctx context.Context, workspace uuid.UUID, q PatternQuery) (found PatternMatches, err error) {
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		r := &patternReader{tx: tx, workspace: workspace, nodes: q.Nodes}
		result, err := pattern.Find(ctx, r, q.Pattern, pattern.DefaultLimits())
		if err != nil {
			return err
		}
		found.Truncated = result.Truncated
		found.add(result.Matches, &q)
		return found.fetch(ctx, r, q.MaxBytes)
	})
	if err != nil {
		return PatternMatches{}, postgres.Classify(fmt.Errorf("matching a pattern: %w", err))
	}
	return found, nil
}

// add adds the first matches, or the largest groups of them.
func (m *PatternMatches) add(matches []pattern.Match, q *PatternQuery) {
	if q.Return != nil {
		groups := pattern.GroupBy(matches, q.Return)
		m.Returned, m.Total = q.Return, len(groups)
		for _, g := range groups[:min(q.Limit, len(groups))] {
			m.Matches = append(m.Matches, PatternMatch{Nodes: g.Nodes, Count: g.Count})
		}
		return
	}
	for node, required := range q.Pattern.Required() {
		if required {
			m.Returned = append(m.Returned, node)
		}
	}
	m.Total = len(matches)
	for _, match := range matches[:min(q.Limit, len(matches))] {
		nodes := make([]uuid.UUID, len(m.Returned))
		for i, node := range m.Returned {
			nodes[i] = match.Nodes[node]
		}
		m.Matches = append(m.Matches, PatternMatch{Nodes: nodes, Trails: match.Trails})
	}
}

// fetch reads the nodes and edges. If they are too large, it removes the last matches.
func (m *PatternMatches) fetch(ctx context.Context, r *patternReader, maxBytes int) error {
	nodesByID, err := fetchFirst(ctx, r, nodes, m.nodeIDs(), maxBytes)
	if err != nil {
		return err
	}
	edgesByID, err := fetchFirst(ctx, r, edges, m.edgeIDs(), maxBytes)
	if err != nil {
		return err
	}
	complete := slices.IndexFunc(m.Matches, func(match PatternMatch) bool {
		return !containsAll(nodesByID, match.Nodes) || !containsAll(edgesByID, slices.Concat(match.Trails...))
	})
	if complete >= 0 {
		m.Truncated, m.Matches = true, m.Matches[:complete]
	}
	m.Nodes, m.Edges = lookUp(nodesByID, uuids.Distinct(m.nodeIDs())), lookUp(edgesByID, uuids.Distinct(m.edgeIDs()))
	return nil
}

func (m *PatternMatches) nodeIDs() (ids []uuid.UUID) {
	for i := range m.Matches {
		ids = append(ids, m.Matches[i].Nodes...)
	}
	return ids
}

func (m *PatternMatches) edgeIDs() (ids []uuid.UUID) {
	for i := range m.Matches {
		ids = append(ids, slices.Concat(m.Matches[i].Trails...)...)
	}
	return ids
}

func containsAll[T any](byID map[uuid.UUID]T, ids []uuid.UUID) bool {
	return !slices.ContainsFunc(ids, func(id uuid.UUID) bool {
		_, found := byID[id]
		return !found
	})
}

// fetchFirst reads the first of the resources until they are maxBytes large. Ids may be repeated.
func fetchFirst[T any](
	ctx context.Context, r *patternReader, res resource[T], ids []uuid.UUID, maxBytes int,
) (map[uuid.UUID]T, error) {
	seen := map[uuid.UUID]bool{}
	var wanted []uuid.UUID
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			wanted = append(wanted, id)
		}
	}
	list, _, err := fetchPage(ctx, r.tx, res, r.workspace, wanted, maxBytes)
	return indexByID(res, list), err
}
