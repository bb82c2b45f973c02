package graphread

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/pattern"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	// maxPatternEdgesPerNode is the maximum number of edges of a node in each direction that a pattern follows, so that a
	// hub leaves edges to other nodes.
	maxPatternEdgesPerNode = 10_000
	// fewCandidates is the number of candidates with which a search begins without looking for fewer.
	fewCandidates = 100
)

// cost returns an order in which to look for few candidates: by how many nodes usually meet the conditions, and by what
// it costs to find them.
func (f *NodeFilter) cost() int {
	switch {
	case f.IDs != nil:
		return 0
	case len(f.Properties) > 0:
		return 1
	case f.Name != "":
		return 2
	case f.hasOtherConditions():
		return 3
	case f.EntityTypes != nil:
		return 4
	}
	return 5
}

// patternReader reads what the search for the matches of a pattern needs.
type patternReader struct {
	tx        pgx.Tx
	workspace uuid.UUID
	nodes     []NodeFilter
}

// Start implements [pattern.Reader]. Nodes that are selected by their type alone are counted without reading them.
func (r *patternReader) Start(
	ctx context.Context, among []int, limit int,
) (node int, candidates []uuid.UUID, more bool, err error) {
	among = slices.SortedStableFunc(slices.Values(among), func(a, b int) int {
		return cmp.Compare(r.nodes[a].cost(), r.nodes[b].cost())
	})
	node = -1
	for _, n := range among {
		if total, known, err := r.total(ctx, n); err != nil {
			return 0, nil, false, err
		} else if known && node >= 0 && total >= int64(len(candidates)) {
			continue
		}
		found, err := r.candidates(ctx, n, limit+1)
		if err != nil {
			return 0, nil, false, err
		}
		if node < 0 || len(found) < len(candidates) {
			node, candidates = n, found
		}
		if len(candidates) <= fewCandidates {
			break
		}
	}
	return node, candidates[:min(limit, len(candidates))], len(candidates) > limit, nil
}

// total returns the number of nodes that meet the conditions, if they are only of types.
func (r *patternReader) total(ctx context.Context, node int) (total int64, known bool, err error) {
	f := &r.nodes[node]
	if f.hasOtherConditions() {
		return 0, false, nil
	}
	err = r.tx.QueryRow(ctx, `SELECT COALESCE(sum(standing), 0)::bigint FROM graph_totals
		WHERE workspace_id = $1 AND kind = $2 AND ($3::text[] IS NULL OR label = ANY($3))`,
		r.workspace, int16(graph.KindNode), f.EntityTypes).Scan(&total)
	return total, true, err
}

func (r *patternReader) candidates(ctx context.Context, node, limit int) ([]uuid.UUID, error) {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", r.workspace)
	w.Add("NOT deleted")
	r.nodes[node].apply(w)
	return r.queryIDs(ctx, `SELECT id FROM nodes WHERE `+w.Text()+` LIMIT `+w.Arg(limit), w)
}

// Select implements [pattern.Reader]. The nodes are looked up by key, so that no plan reads the whole table.
func (r *patternReader) Select(ctx context.Context, node int, ids []uuid.UUID) ([]uuid.UUID, error) {
	f := &r.nodes[node]
	if (f.EntityTypes == nil && !f.hasOtherConditions()) || len(ids) == 0 {
		return ids, nil // the ends of edges exist
	}
	w := &postgres.Where{}
	list := w.Arg(postgres.IDArray(ids))
	w.Add("workspace_id = ?", r.workspace)
	w.Add("nodes.id = found.id")
	w.Add("NOT deleted")
	f.apply(w)
	return r.queryIDs(ctx, `SELECT found.id FROM unnest(`+list+`::uuid[]) AS found (id)
		WHERE (SELECT true FROM nodes WHERE `+w.Text()+`)`, w)
}

func (r *patternReader) queryIDs(ctx context.Context, query string, w *postgres.Where) ([]uuid.UUID, error) {
	rows, err := r.tx.Query(ctx, query, postgres.WithCustomPlan(w.Args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// Steps implements [pattern.Reader] with one statement.
func (r *patternReader) Steps(
	ctx context.Context, read pattern.Read,
) (steps []pattern.Step, complete []uuid.UUID, err error) {
	walked := retrieval.Step{
		Frontier: read.Nodes, Direction: retrieval.Incoming, RelationTypes: read.RelationTypes,
		MaxPerNode: maxPatternEdgesPerNode, Limit: read.Limit,
	}
	switch {
	case read.Out && read.In:
		walked.Direction = retrieval.AnyDirection
	case read.Out:
		walked.Direction = retrieval.Outgoing
	}
	s := newWalkStatement(r.workspace, walked, "")
	rows, err := r.tx.Query(ctx, s.sql(), postgres.WithCustomPlan(s.args)...)
	if err != nil {
		return nil, nil, err
	}
	missing := newMissingEdges(read.Nodes)
	err = eachStep(rows, s.limit, func(followed step, direction int, kept bool) {
		missing.examine(followed.from, direction, kept, s.limit)
		isLoop := followed.from == followed.to && direction == directionIn && read.Out // it is read as outgoing, too
		if kept && !isLoop {
			steps = append(steps, pattern.Step{Edge: followed.edge, From: followed.from, To: followed.to})
		}
	})
	return steps, missing.complete(), err
}

// missingEdges records of which nodes edges were not read.
type missingEdges struct {
	nodes    []uuid.UUID // in the order in which their edges are read
	beyond   map[uuid.UUID]bool
	examined [directionIn + 1]int
	// last is the node at which the limit of a direction was reached. Edges of the nodes after it were not read.
	last map[uuid.UUID]bool
}

func newMissingEdges(nodes []uuid.UUID) *missingEdges {
	return &missingEdges{nodes: nodes, beyond: map[uuid.UUID]bool{}, last: map[uuid.UUID]bool{}}
}

func (m *missingEdges) examine(node uuid.UUID, direction int, kept bool, limit int) {
	m.examined[direction]++
	if !kept {
		m.beyond[node] = true
	}
	if m.examined[direction] > limit {
		m.last[node] = true
	}
}

// complete returns the nodes all whose edges were read.
func (m *missingEdges) complete() (ids []uuid.UUID) {
	for _, id := range m.nodes {
		if m.last[id] {
			return ids
		}
		if !m.beyond[id] {
			ids = append(ids, id)
		}
	}
	return ids
}
