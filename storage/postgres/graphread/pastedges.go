package graphread

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
)

// edgeHistory has what the journal says of edges: the last step of each, and the cascades of their ends.
type edgeHistory struct {
	want     func(*graph.Edge) bool // of which edges steps are kept; nil: all
	last     map[uuid.UUID]edgeStep
	cascades map[uuid.UUID]map[place]cascadeStep // by the node that was deleted or restored
}

func newEdgeHistory() *edgeHistory {
	return &edgeHistory{last: map[uuid.UUID]edgeStep{}, cascades: map[uuid.UUID]map[place]cascadeStep{}}
}

// add adds the steps of a change.
func (h *edgeHistory) add(c *graph.Change) error {
	for i := range c.Steps {
		at := place{sequence: int64(c.Sequence), step: i}
		if e := c.Steps[i].Edge; e != nil && h.want(e) {
			if known, ok := h.last[e.ID]; !ok || known.compare(at) < 0 {
				h.last[e.ID] = edgeStep{edge: e, place: at}
			}
		}
		if cascade := c.Steps[i].Cascade; cascade != nil {
			node := cascade.Mark.Node
			if h.cascades[node] == nil {
				h.cascades[node] = map[place]cascadeStep{}
			}
			h.cascades[node][at] = cascadeStep{cascade: cascade, at: c.At, place: at}
		}
	}
	return nil
}

// state returns the state of an edge that has a step: after the step and the cascades since.
func (h *edgeHistory) state(id uuid.UUID) *graph.Edge {
	last := h.last[id]
	e := *last.edge
	var since []cascadeStep
	for _, node := range slices.Compact([]uuid.UUID{e.SourceID, e.TargetID}) {
		for _, c := range h.cascades[node] {
			if c.compare(last.place) > 0 {
				since = append(since, c)
			}
		}
	}
	slices.SortFunc(since, func(a, b cascadeStep) int { return a.compare(b.place) })
	for i := range since {
		since[i].apply(&e)
	}
	return &e
}

// apply changes an edge as [graph.Cascade] describes.
func (c *cascadeStep) apply(e *graph.Edge) {
	mark := c.cascade.Mark
	switch {
	case !c.cascade.Restored && !e.Deleted:
		e.Deleted, e.DeletedBy, e.Taken = true, mark.Sequence, mark
	case c.cascade.Restored && e.IsTaken() && e.Taken == mark:
		e.Deleted, e.DeletedBy = false, 0
	default:
		return
	}
	e.Touch(graph.Sequence(c.sequence), c.at)
}

// countEntries returns how many changes the history of each node has from a sequence on, counted up to one more than
// the limit.
func (p *past) countEntries(ctx context.Context, nodes []uuid.UUID, from []int64) (map[uuid.UUID]int, error) {
	rows, err := p.tx.Query(ctx, `SELECT r.id, c.n FROM unnest($3::uuid[], $4::bigint[]) AS r (id, first)
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
			SELECT FROM journal_nodes WHERE workspace_id = $1 AND node_id = r.id AND sequence >= r.first
			AND sequence <= $2 LIMIT $5) k) c`, p.workspace, p.sequence, nodes, from, p.entriesLeft+1)
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

// readMatching reads the changes of the histories of nodes, from a sequence on, that meet a condition.
func (p *past) readMatching(
	ctx context.Context, h *edgeHistory, nodes []uuid.UUID, from []int64, condition string,
) error {
	rows, err := p.tx.Query(ctx, `SELECT DISTINCT k.sequence FROM unnest($3::uuid[], $4::bigint[]) AS r (id, first)
		JOIN journal_nodes k ON k.workspace_id = $1 AND k.node_id = r.id AND k.sequence >= r.first AND k.sequence <= $2
		JOIN journal j ON j.workspace_id = $1 AND j.sequence = k.sequence
		WHERE `+condition, p.workspace, p.sequence, nodes, from)
	if err != nil {
		return err
	}
	sequences, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	return p.readChanges(ctx, sequences, h.add)
}

// readCascades adds the cascades of nodes from a sequence on. A node that was not changed since has none.
func (p *past) readCascades(ctx context.Context, h *edgeHistory, from map[uuid.UUID]int64) error {
	ids := make([]uuid.UUID, 0, len(from))
	for id := range from {
		ids = append(ids, id)
	}
	rows, err := p.tx.Query(ctx, `SELECT id, changed_by FROM nodes
		WHERE workspace_id = $1 AND id = ANY($2) AND changed_by > created_by`, p.workspace, ids)
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
	counts, err := p.countEntries(ctx, nodes, first)
	if err != nil {
		return err
	}
	for _, n := range counts {
		if p.entriesLeft -= n; p.entriesLeft < 0 {
			return errTooLong()
		}
	}
	return p.readMatching(ctx, h, nodes, first, hasCascades)
}
