package graphread

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/pattern"
	"github.com/livegraph/livegraph/storage/postgres"
)

// PatternQuery selects the matches of a pattern.
type PatternQuery struct {
	Pattern pattern.Pattern
	Nodes   []NodeConditions // by node of the pattern
	// Return has the nodes of the pattern by which matches are grouped and counted; nil: matches are returned one by one.
	Return []int
	Limit  int // maximum number of matches or groups that are returned
	// MaxBytes is the approximate maximum size of the nodes, and of the edges.
	MaxBytes int
}

// PatternMatches are the matches of a pattern.
type PatternMatches struct {
	Matches []pattern.Match // nil if matches are grouped
	Groups  []pattern.Group
	Total   int          // number of matches or groups that were found
	Nodes   []graph.Node // of the matches or groups, each once, sorted by id
	Edges   []graph.Edge // of the matches, each once, sorted by id
	// Truncated reports that matches may be missing, because a limit of the search or MaxBytes was reached.
	Truncated bool
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
		if q.Return == nil {
			found.Total = len(result.Matches)
			found.Matches = result.Matches[:min(q.Limit, found.Total)]
		} else {
			found.Groups = pattern.GroupBy(result.Matches, q.Return)
			found.Total = len(found.Groups)
			found.Groups = found.Groups[:min(q.Limit, found.Total)]
		}
		return found.fetch(ctx, r, q.MaxBytes)
	})
	if err != nil {
		return PatternMatches{}, postgres.Classify(fmt.Errorf("matching a pattern: %w", err))
	}
	return found, nil
}

// fetch reads the nodes and edges. If they are too large, it removes the last matches or groups.
func (m *PatternMatches) fetch(ctx context.Context, r *patternReader, maxBytes int) error {
	var nodeIDs, edgeIDs []uuid.UUID
	for i := range m.Groups {
		nodeIDs = append(nodeIDs, m.Groups[i].Nodes...)
	}
	for i := range m.Matches {
		nodeIDs = append(nodeIDs, m.Matches[i].Nodes...)
		edgeIDs = append(edgeIDs, slices.Concat(m.Matches[i].Trails...)...)
	}
	nodesByID, err := fetchFirst(ctx, r, nodes, nodeIDs, maxBytes)
	if err != nil {
		return err
	}
	edgesByID, err := fetchFirst(ctx, r, edges, edgeIDs, maxBytes)
	if err != nil {
		return err
	}
	m.cut(nodesByID, edgesByID)
	return nil
}

// cut removes the matches and groups from the first one whose nodes or edges were not read, and sets the nodes and
// edges of the others.
func (m *PatternMatches) cut(nodesByID map[uuid.UUID]graph.Node, edgesByID map[uuid.UUID]graph.Edge) {
	var nodeIDs, edgeIDs []uuid.UUID
	complete := func(nodes, edges []uuid.UUID) bool {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(id uuid.UUID) bool { return id == uuid.Nil })
		if !containsAll(nodesByID, nodes) || !containsAll(edgesByID, edges) {
			return false
		}
		nodeIDs, edgeIDs = append(nodeIDs, nodes...), append(edgeIDs, edges...)
		return true
	}
	groups, matches := 0, 0
	for groups < len(m.Groups) && complete(m.Groups[groups].Nodes, nil) {
		groups++
	}
	for matches < len(m.Matches) && complete(m.Matches[matches].Nodes, slices.Concat(m.Matches[matches].Trails...)) {
		matches++
	}
	m.Truncated = m.Truncated || groups < len(m.Groups) || matches < len(m.Matches)
	m.Groups, m.Matches = m.Groups[:groups], m.Matches[:matches]
	m.Nodes, m.Edges = lookUp(nodesByID, distinctIDs(nodeIDs)), lookUp(edgesByID, distinctIDs(edgeIDs))
}

func containsAll[T any](byID map[uuid.UUID]T, ids []uuid.UUID) bool {
	return !slices.ContainsFunc(ids, func(id uuid.UUID) bool {
		_, found := byID[id]
		return !found
	})
}

func distinctIDs(ids []uuid.UUID) []uuid.UUID {
	sortIDs(ids)
	return slices.Compact(ids)
}

// fetchFirst reads the first of the resources until they are maxBytes large. Ids may be repeated, or be zero.
func fetchFirst[T any](
	ctx context.Context, r *patternReader, res resource[T], ids []uuid.UUID, maxBytes int,
) (map[uuid.UUID]T, error) {
	seen := map[uuid.UUID]bool{uuid.Nil: true}
	var wanted []uuid.UUID
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			wanted = append(wanted, id)
		}
	}
	list, _, err := fetchPage(ctx, r.tx, res, r.workspace, wanted, maxBytes)
	byID := make(map[uuid.UUID]T, len(list))
	for i := range list {
		byID[res.position(&list[i]).ID] = list[i]
	}
	return byID, err
}
