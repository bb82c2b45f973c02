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

// mostRelations is how many relation types of a node's edges are told apart.
const mostRelations = 32

// WalkEdges returns the edges at the frontier of a walk, each once, sorted by id. Both
// bounds are of the edges that are looked at, so that a hub, or a filter that lets
// nothing pass, costs no more than anything else. Of a node come first the edges that
// the index has first, or of each relation type those; when there are too many in all,
// those of the nodes that stand first in the frontier, and each way has half.
func (db *Store) WalkEdges(
	ctx context.Context, workspace uuid.UUID, step retrieval.Step,
) (walked retrieval.Walked, err error) {
	if len(step.Frontier) == 0 || step.Limit <= 0 || step.OfNode <= 0 {
		return walked, nil
	}
	s := newWalkStatement(workspace, step)
	err = db.root.Reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.text(), postgres.Planned(s.args)...)
		if err != nil {
			return err
		}
		walked, err = collectWalk(rows, s.limit)
		return err
	})
	if err != nil {
		return retrieval.Walked{}, postgres.Classify(fmt.Errorf("walking the graph from what was found: %w", err))
	}
	walked.Cut = frontierOrder(step.Frontier, walked.Cut)
	return walked, nil
}

// walkStatement is the statement of a step.
type walkStatement struct {
	args                               []any
	step                               retrieval.Step
	workspace, frontier, kinds, filter string // filter: what the other end must be; empty: anything
	limit                              int    // edges each way may have
}

func newWalkStatement(workspace uuid.UUID, step retrieval.Step) *walkStatement {
	w := &postgres.Where{}
	s := &walkStatement{step: step, workspace: w.Arg(workspace), frontier: w.Arg(IDArray(step.Frontier))}
	if len(step.RelationTypes) > 0 {
		s.kinds = " AND e.relation_type = ANY(" + w.Arg(step.RelationTypes) + ")"
	}
	filter := &postgres.Where{Args: w.Args}
	if addFilter(filter, step.Filter); len(filter.Conditions) > 0 {
		w.Args, s.filter = filter.Args, filter.Text()
	}
	s.args, s.limit = w.Args, step.Limit
	if step.Direction != retrieval.Outgoing && step.Direction != retrieval.Incoming {
		s.limit = (step.Limit + 1) / 2
	}
	return s
}

func (s *walkStatement) text() string {
	switch s.step.Direction {
	case retrieval.Outgoing:
		return s.way("source_id", "target_id", wayOut)
	case retrieval.Incoming:
		return s.way("target_id", "source_id", wayIn)
	default:
		return s.way("source_id", "target_id", wayOut) + " UNION ALL " + s.way("target_id", "source_id", wayIn)
	}
}

// way reads the edges of one way. Each row says of which kind of the node's edges it
// is, and how many of that kind are followed; one more is read, to know that there is.
func (s *walkStatement) way(from, to string, number int) string {
	// What passes is looked up after the edges are limited, not while: that is what
	// bounds a hub none of whose neighbours pass. It is a look-up by key, so that no plan
	// reads the whole table for a few thousand.
	passes := "true"
	if s.filter != "" {
		passes = fmt.Sprintf(
			"coalesce((SELECT true FROM nodes n WHERE n.workspace_id = %s AND n.id = s.other AND NOT n.deleted AND %s), false)",
			s.workspace, s.filter,
		)
	}
	edges := fmt.Sprintf(
		"FROM edges e WHERE e.workspace_id = %s AND e.%s = f.node AND NOT e.deleted%s", s.workspace, from, s.kinds,
	)
	order := fmt.Sprintf("ORDER BY e.workspace_id, e.%s, e.relation_type", from)
	source := fmt.Sprintf(
		`(SELECT e.id, e.%s AS other, 0 AS kind, %d AS most %s %s LIMIT %d)`, to, s.step.OfNode, edges, order,
		s.step.OfNode+1,
	)
	if s.step.ByRelation {
		// The index is asked for one relation type after the other, whatever is between.
		source = fmt.Sprintf(`(WITH RECURSIVE kinds AS (
				(SELECT e.relation_type AS name, 1 AS number %[1]s %[2]s LIMIT 1)
				UNION ALL SELECT (SELECT e.relation_type %[1]s AND e.relation_type > k.name %[2]s LIMIT 1), k.number + 1
				FROM kinds k WHERE k.name IS NOT NULL AND k.number < %[3]d),
			counted AS (SELECT name, number, greatest(%[4]d / count(*) OVER (), 1) AS most FROM kinds WHERE name IS NOT NULL)
			SELECT e.id, e.other, k.number AS kind, k.most FROM counted k CROSS JOIN LATERAL
			(SELECT e.id, e.%[5]s AS other %[1]s AND e.relation_type = k.name LIMIT k.most + 1) e)`,
			edges, order, mostRelations, s.step.OfNode, to)
	}
	return fmt.Sprintf(`(SELECT s.id, s.node, s.other, %d AS way, s.kind, s.most, %s AS passes
		FROM (SELECT e.id, f.node, e.other, e.kind, e.most
			FROM unnest(%s::uuid[]) AS f(node) CROSS JOIN LATERAL %s e LIMIT %d) s)`,
		number, passes, s.frontier, source, s.limit+1)
}

// The ways of an edge from a node of the frontier.
const (
	wayOut = 1
	wayIn  = 2
)

// step is an edge that was followed, and where it leads.
type step struct {
	edge, from, to uuid.UUID
	passes         bool // where it leads is what the filter wants
}

// eachStep calls found for each edge that a walkStatement reads, in the order in which they
// come, with the way that it was followed. kept is false of those that are beyond a bound.
func eachStep(rows pgx.Rows, limit int, found func(s step, way int, kept bool)) error {
	type end struct {
		node      uuid.UUID
		way, kind int
	}
	var (
		edge, node, other pgtype.UUID
		way, kind, most   int
		passes            bool
		looked            [wayIn + 1]int
	)
	of := map[end]int{}
	_, err := pgx.ForEachRow(rows, []any{&edge, &node, &other, &way, &kind, &most, &passes}, func() error {
		at := end{node.Bytes, way, kind}
		of[at]++
		looked[way]++
		found(step{edge.Bytes, node.Bytes, other.Bytes, passes}, way, of[at] <= most && looked[way] <= limit)
		return nil
	})
	return err
}

// collectWalk keeps what passes and is within the bounds.
func collectWalk(rows pgx.Rows, limit int) (walked retrieval.Walked, err error) {
	seen := map[uuid.UUID]struct{}{}
	err = eachStep(rows, limit, func(s step, way int, kept bool) {
		if !kept {
			walked.Truncated = true
			walked.Cut = append(walked.Cut, s.from)
			return
		}
		if _, again := seen[s.edge]; again || !s.passes {
			return
		}
		seen[s.edge] = struct{}{}
		link := retrieval.Link{Edge: s.edge, Source: s.from, Target: s.to}
		if way == wayIn {
			link.Source, link.Target = link.Target, link.Source
		}
		walked.Edges = append(walked.Edges, link)
	})
	slices.SortFunc(walked.Edges, func(a, b retrieval.Link) int { return bytes.Compare(a.Edge[:], b.Edge[:]) })
	return walked, err
}

// frontierOrder returns those of all that are among some, each once, in the order of all.
func frontierOrder(all, some []uuid.UUID) (list []uuid.UUID) {
	if len(some) == 0 {
		return nil
	}
	wanted := make(map[uuid.UUID]bool, len(some))
	for _, id := range some {
		wanted[id] = true
	}
	for _, id := range all {
		if wanted[id] {
			list = append(list, id)
			delete(wanted, id)
		}
	}
	return list
}
