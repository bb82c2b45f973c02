package graphread

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres"
)

// maxRelationTypes is the maximum number of relation types of a node's edges that are followed
// separately.
const maxRelationTypes = 32

// WalkEdges returns the edges at the frontier of a walk, each once, sorted by id. Both limits of
// the step apply to the edges that are examined, so that a hub, or a filter that nothing passes,
// costs no more than other steps. Of a node, the edges that are first in the index are returned,
// or those that are first of each relation type. If there are too many edges in total, those of
// the first nodes of the frontier are returned, and each direction has half of the limit.
func (db *Store) WalkEdges(
	ctx context.Context, workspace uuid.UUID, step retrieval.Step,
) (walked retrieval.WalkResult, err error) {
	if len(step.Frontier) == 0 || step.Limit <= 0 || step.MaxPerNode <= 0 {
		return walked, nil
	}
	s := newWalkStatement(workspace, step, "")
	err = db.root.QueryOnce(ctx, s.sql(), s.args, func(rows pgx.Rows) error {
		walked, err = collectWalk(rows, s.limit)
		return err
	})
	if err != nil {
		return retrieval.WalkResult{}, postgres.Classify(fmt.Errorf("walking the graph from what was found: %w", err))
	}
	walked.TruncatedNodes = frontierOrder(step.Frontier, walked.TruncatedNodes)
	return walked, nil
}

// walkStatement builds the statement of a step. Its limits are parameters, so that few statements are
// described by Postgres: the limits of most steps differ.
type walkStatement struct {
	args                                        []any
	step                                        retrieval.Step
	workspace, frontier, relationFilter, filter string // filter: condition on the other end; empty: none
	perNode, total                              string // the limits as parameters
	weight                                      string // expression of the weight of an edge
	limit                                       int    // maximum number of edges in each direction
}

// newWalkStatement returns the statement of a step. If weight is not empty, it also reads the
// property of the edges with this name, if that is a number.
func newWalkStatement(workspace uuid.UUID, step retrieval.Step, weight string) *walkStatement {
	w := &postgres.Where{}
	s := &walkStatement{step: step, limit: step.Limit}
	s.workspace, s.frontier, s.weight = w.Arg(workspace), w.Arg(postgres.IDArray(step.Frontier)), "NULL::text"
	if weight != "" {
		value := "(w.properties -> " + w.Arg(weight) + "::text)"
		s.weight = fmt.Sprintf(`(SELECT CASE jsonb_typeof(%[1]s) WHEN 'number' THEN %[1]s::text END
			FROM edges w WHERE w.workspace_id = %[2]s AND w.id = s.id)`, value, s.workspace)
	}
	if step.Direction != retrieval.Outgoing && step.Direction != retrieval.Incoming {
		s.limit = (step.Limit + 1) / 2
	}
	s.perNode, s.total = w.Arg(step.MaxPerNode)+"::int", w.Arg(s.limit)+"::int"
	if len(step.RelationTypes) > 0 {
		s.relationFilter = " AND e.relation_type = ANY(" + w.Arg(step.RelationTypes) + ")"
	}
	filter := &postgres.Where{Args: w.Args}
	if addFilter(filter, step.Filter); len(filter.Conditions) > 0 {
		w.Args, s.filter = filter.Args, filter.Text()
	}
	s.args = w.Args
	return s
}

func (s *walkStatement) sql() string {
	switch s.step.Direction {
	case retrieval.Outgoing:
		return s.directionSQL("source_id", "target_id", directionOut)
	case retrieval.Incoming:
		return s.directionSQL("target_id", "source_id", directionIn)
	default:
		return s.directionSQL("source_id", "target_id", directionOut) + " UNION ALL " +
			s.directionSQL("target_id", "source_id", directionIn)
	}
}

// directionSQL returns the query of the edges of one direction. Each row has the kind of the edge
// among the node's edges, and the maximum number of edges of that kind. One more edge is read, to
// detect that there are more.
func (s *walkStatement) directionSQL(from, to string, number int) string {
	// The filter is evaluated after the edges are limited, which bounds the cost of a hub none of
	// whose neighbours pass. It is a lookup by key, so that no plan reads the whole table for a
	// few thousand nodes.
	passes := "true"
	if s.filter != "" {
		passes = fmt.Sprintf(
			"coalesce((SELECT true FROM nodes n WHERE n.workspace_id = %s AND n.id = s.other AND NOT n.deleted AND %s), false)",
			s.workspace, s.filter,
		)
	}
	edges := fmt.Sprintf(
		"FROM edges e WHERE e.workspace_id = %s AND e.%s = f.node AND NOT e.deleted%s", s.workspace, from, s.relationFilter,
	)
	order := fmt.Sprintf("ORDER BY e.workspace_id, e.%s, e.relation_type", from)
	source := fmt.Sprintf(
		`(SELECT e.id, e.%[1]s AS other, 0 AS kind, %[2]s AS most %[3]s %[4]s LIMIT %[2]s + 1)`, to, s.perNode, edges, order,
	)
	if s.step.ByRelation {
		// The recursion finds one relation type after the other in the index and skips the edges in between.
		source = fmt.Sprintf(`(WITH RECURSIVE kinds AS (
				(SELECT e.relation_type AS name, 1 AS number %[1]s %[2]s LIMIT 1)
				UNION ALL SELECT (SELECT e.relation_type %[1]s AND e.relation_type > k.name %[2]s LIMIT 1), k.number + 1
				FROM kinds k WHERE k.name IS NOT NULL AND k.number < %[3]d),
			counted AS (SELECT name, number, greatest(%[4]s / count(*) OVER (), 1) AS most FROM kinds WHERE name IS NOT NULL)
			SELECT e.id, e.other, k.number AS kind, k.most FROM counted k CROSS JOIN LATERAL
			(SELECT e.id, e.%[5]s AS other %[1]s AND e.relation_type = k.name LIMIT k.most + 1) e)`,
			edges, order, maxRelationTypes, s.perNode, to)
	}
	return fmt.Sprintf(`(SELECT s.id, s.node, s.other, %d AS way, s.kind, s.most, %s AS passes, %s AS weight
		FROM (SELECT e.id, f.node, e.other, e.kind, e.most
			FROM unnest(%s::uuid[]) AS f(node) CROSS JOIN LATERAL %s e LIMIT %s + 1) s)`,
		number, passes, s.weight, s.frontier, source, s.total)
}

// Directions of an edge from a node of the frontier.
const (
	directionOut = 1
	directionIn  = 2
)

// step is an edge that was followed, and the nodes at its ends.
type step struct {
	edge, from, to uuid.UUID
	passes         bool   // whether to passes the filter
	weight         string // a number in JSON, or empty
}

// eachStep calls visit for each edge that a walkStatement reads, in order, with the direction in
// which it was followed. kept is false for edges beyond a limit.
func eachStep(rows pgx.Rows, limit int, visit func(s step, direction int, kept bool)) error {
	type edgeGroup struct {
		node            uuid.UUID
		direction, kind int
	}
	var (
		edge, node, other         pgtype.UUID
		direction, kind, maxEdges int
		passes                    bool
		weight                    pgtype.Text
		examined                  [directionIn + 1]int
	)
	groupSizes := map[edgeGroup]int{}
	columns := []any{&edge, &node, &other, &direction, &kind, &maxEdges, &passes, &weight}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		group := edgeGroup{node.Bytes, direction, kind}
		groupSizes[group]++
		examined[direction]++
		kept := groupSizes[group] <= maxEdges && examined[direction] <= limit
		visit(step{edge.Bytes, node.Bytes, other.Bytes, passes, weight.String}, direction, kept)
		return nil
	})
	return err
}

// collectWalk returns the edges that pass the filter and are within the limits.
func collectWalk(rows pgx.Rows, limit int) (walked retrieval.WalkResult, err error) {
	seen := map[uuid.UUID]struct{}{}
	err = eachStep(rows, limit, func(s step, direction int, kept bool) {
		if !kept {
			walked.Truncated = true
			walked.TruncatedNodes = append(walked.TruncatedNodes, s.from)
			return
		}
		if _, duplicate := seen[s.edge]; duplicate || !s.passes {
			return
		}
		seen[s.edge] = struct{}{}
		link := retrieval.Link{Edge: s.edge, Source: s.from, Target: s.to}
		if direction == directionIn {
			link.Source, link.Target = link.Target, link.Source
		}
		walked.Edges = append(walked.Edges, link)
	})
	slices.SortFunc(walked.Edges, func(a, b retrieval.Link) int { return bytes.Compare(a.Edge[:], b.Edge[:]) })
	return walked, err
}

// frontierOrder returns those of the frontier that are among ids, each once, in the order of the
// frontier.
func frontierOrder(frontier, ids []uuid.UUID) (list []uuid.UUID) {
	if len(ids) == 0 {
		return nil
	}
	remaining := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		remaining[id] = true
	}
	for _, id := range frontier {
		if remaining[id] {
			list = append(list, id)
			delete(remaining, id)
		}
	}
	return list
}
