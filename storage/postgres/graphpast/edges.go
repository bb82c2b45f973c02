package graphpast

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph/edgehistory"
)

// countEntries returns how many changes the history of each node has from a sequence on, counted up to one more than
// the limit.
func (r *Reader) countEntries(ctx context.Context, nodes []uuid.UUID, from []int64) (map[uuid.UUID]int, error) {
	rows, err := r.tx.Query(ctx, `SELECT r.id, c.n FROM unnest($3::uuid[], $4::bigint[]) AS r (id, first)
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
			SELECT FROM journal_nodes WHERE workspace_id = $1 AND node_id = r.id AND sequence >= r.first
			AND sequence <= $2 LIMIT $5) k) c`, r.workspace, r.sequence, nodes, from, r.entriesLeft+1)
	if err != nil {
		return nil, err
	}
	counts := make(map[uuid.UUID]int, len(nodes))
	var (
		id uuid.UUID
		n  int
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error { counts[id] = n; return nil })
	return counts, err
}

// Conditions on a change of a node's history: that it has a step or a cascade with the id of the node in field 2
// (source_id of an edge, node_id of a mark) or field 3 (target_id), or one of the node (field 1) and a cascade.
const (
	hasEdgeSteps = `(position('\x1210'::bytea || uuid_send(r.id) IN j.change) > 0 OR
		position('\x1a10'::bytea || uuid_send(r.id) IN j.change) > 0)`
	hasCascades = `position('\x0a10'::bytea || uuid_send(r.id) IN j.change) > 0 AND
		position('\x1210'::bytea || uuid_send(r.id) IN j.change) > 0`
)

// Admit returns those of the nodes whose histories fit in the remaining limit, which it reduces.
func (r *Reader) Admit(ctx context.Context, ids []uuid.UUID) (admitted []uuid.UUID, err error) {
	counts, err := r.countEntries(ctx, ids, make([]int64, len(ids)))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if counts[id] <= r.entriesLeft {
			r.entriesLeft -= counts[id]
			admitted = append(admitted, id)
		}
	}
	return admitted, nil
}

// ReadEdgeSteps adds the steps of the edges of nodes.
func (r *Reader) ReadEdgeSteps(ctx context.Context, h *edgehistory.History, nodes []uuid.UUID) error {
	return r.readMatching(ctx, h, nodes, make([]int64, len(nodes)), hasEdgeSteps)
}

// readMatching reads the changes of the histories of nodes, from a sequence on, that meet a condition.
func (r *Reader) readMatching(
	ctx context.Context, h *edgehistory.History, nodes []uuid.UUID, from []int64, condition string,
) error {
	rows, err := r.tx.Query(ctx, `SELECT DISTINCT k.sequence FROM unnest($3::uuid[], $4::bigint[]) AS r (id, first)
		JOIN journal_nodes k ON k.workspace_id = $1 AND k.node_id = r.id AND k.sequence >= r.first AND k.sequence <= $2
		JOIN journal j ON j.workspace_id = $1 AND j.sequence = k.sequence
		WHERE `+condition, r.workspace, r.sequence, nodes, from)
	if err != nil {
		return err
	}
	sequences, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	return r.readChanges(ctx, sequences, h.Add)
}

// ReadCascades adds the cascades of nodes from a sequence on. A node that was not changed since has none.
func (r *Reader) ReadCascades(ctx context.Context, h *edgehistory.History, from map[uuid.UUID]int64) error {
	ids := make([]uuid.UUID, 0, len(from))
	for id := range from {
		ids = append(ids, id)
	}
	rows, err := r.tx.Query(ctx, `SELECT id, changed_by FROM nodes
		WHERE workspace_id = $1 AND id = ANY($2) AND changed_by > created_by`, r.workspace, ids)
	if err != nil {
		return err
	}
	var (
		id        uuid.UUID
		changedBy int64
		nodes     []uuid.UUID
		first     []int64
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &changedBy}, func() error {
		if changedBy >= from[id] {
			nodes, first = append(nodes, id), append(first, from[id])
		}
		return nil
	})
	if err != nil || len(nodes) == 0 {
		return err
	}
	counts, err := r.countEntries(ctx, nodes, first)
	if err != nil {
		return err
	}
	for _, n := range counts {
		if r.entriesLeft -= n; r.entriesLeft < 0 {
			return ErrTooLong()
		}
	}
	return r.readMatching(ctx, h, nodes, first, hasCascades)
}
