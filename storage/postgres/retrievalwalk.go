package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/livegraph/livegraph/internal/retrieval"
)

// WalkEdges gives the edges at the frontier of a walk, each once, sorted by id. Both
// bounds are of the edges that are looked at, so that a hub, or a filter that lets
// nothing pass, costs no more than anything else. Of a node come first the edges that
// the index has first; when there are too many in all, those of the nodes that stand
// first in the frontier, and each way has half.
func (db *DB) WalkEdges(ctx context.Context, workspace uuid.UUID, step retrieval.Step) (walked retrieval.Walked, err error) {
	if len(step.Frontier) == 0 || step.Limit <= 0 || step.OfNode <= 0 {
		return walked, nil
	}
	query, w, limit := walkQuery(workspace, step)
	err = db.reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, planned(w.args)...)
		if err != nil {
			return err
		}
		walked, err = collectWalk(rows, step.OfNode, limit)
		return err
	})
	if err != nil {
		return retrieval.Walked{}, classify(fmt.Errorf("walking the graph from what was found: %w", err))
	}
	return walked, nil
}

// walkQuery writes the statement, and says how many edges each way may have.
func walkQuery(workspace uuid.UUID, step retrieval.Step) (query string, w *where, limit int) {
	w = &where{}
	ws, frontier := w.arg(workspace), w.arg(idArray(step.Frontier))
	relation := ""
	if len(step.RelationTypes) > 0 {
		relation = " AND e.relation_type = ANY(" + w.arg(step.RelationTypes) + ")"
	}
	filter := &where{args: w.args}
	if addFilter(filter, step.Filter); len(filter.conditions) > 0 {
		w.args = filter.args
	}
	limit = step.Limit
	if step.Direction != retrieval.Outgoing && step.Direction != retrieval.Incoming {
		limit = (step.Limit + 1) / 2
	}
	way := func(from, to string, number int) string {
		// What passes is looked up after the edges are limited, not while: that is
		// what bounds a hub none of whose neighbours pass.
		// A look-up by key, so that no plan reads the whole table for a few thousand.
		passes := "true"
		if len(filter.conditions) > 0 {
			passes = fmt.Sprintf("coalesce((SELECT true FROM nodes n WHERE n.workspace_id = %s AND n.id = s.other AND NOT n.deleted AND %s), false)", ws, filter.text())
		}
		return fmt.Sprintf(`(SELECT s.id, s.node, s.other, %d AS way, %s AS passes FROM (SELECT e.id, f.node, e.other FROM unnest(%s::uuid[]) AS f(node) CROSS JOIN LATERAL
			(SELECT e.id, e.%s AS other FROM edges e WHERE e.workspace_id = %s AND e.%s = f.node AND NOT e.deleted%s ORDER BY e.workspace_id, e.%s, e.relation_type LIMIT %d) e LIMIT %d) s)`,
			number, passes, frontier, to, ws, from, relation, from, step.OfNode+1, limit+1)
	}
	switch step.Direction {
	case retrieval.Outgoing:
		query = way("source_id", "target_id", wayOut)
	case retrieval.Incoming:
		query = way("target_id", "source_id", wayIn)
	default:
		query = way("source_id", "target_id", wayOut) + " UNION ALL " + way("target_id", "source_id", wayIn)
	}
	return query, w, limit
}

// The ways of an edge from a node of the frontier.
const (
	wayOut = 1
	wayIn  = 2
)

// collectWalk keeps what passes and is within the bounds.
func collectWalk(rows pgx.Rows, ofNode, limit int) (walked retrieval.Walked, err error) {
	type end struct {
		node [16]byte
		way  int
	}
	var (
		edge, node, other pgtype.UUID
		way               int
		passes            bool
		looked            [wayIn + 1]int
	)
	seen := map[uuid.UUID]struct{}{}
	of := map[end]int{}
	_, err = pgx.ForEachRow(rows, []any{&edge, &node, &other, &way, &passes}, func() error {
		at := end{node.Bytes, way}
		of[at]++
		if looked[way]++; of[at] > ofNode || looked[way] > limit {
			walked.Truncated = true
			return nil
		}
		if _, again := seen[edge.Bytes]; again || !passes {
			return nil
		}
		seen[edge.Bytes] = struct{}{}
		link := retrieval.Link{Edge: edge.Bytes, Source: node.Bytes, Target: other.Bytes}
		if way == wayIn {
			link.Source, link.Target = link.Target, link.Source
		}
		walked.Edges = append(walked.Edges, link)
		return nil
	})
	slices.SortFunc(walked.Edges, func(a, b retrieval.Link) int { return bytes.Compare(a.Edge[:], b.Edge[:]) })
	return walked, err
}
