package graphpast

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/edgehistory"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/graphrow"
)

// reasonPurged and reasonHistoryTooLong are the reasons of errors of reads as of a moment: the content was purged, or
// the journal has too many changes to find the state.
const (
	reasonPurged         = "purged"
	reasonHistoryTooLong = "history_too_long"
)

const (
	// DefaultMaxEntries is the maximum number of entries of journal_nodes that a read as of a moment examines, and of each
	// search for the last step of one node or edge.
	DefaultMaxEntries = 100_000
	// maxBytes is the maximum total size of the changes that it decodes. One change may be larger.
	maxBytes = 16 << 20
)

// Reader reads the graph as of a sequence, in a transaction. A row of a node or an edge that was not changed since is
// the state. Otherwise the state is in the journal: each step has the whole node or edge after it, except the edges of
// a cascade, whose state follows from the last step and the cascades of their ends after it.
type Reader struct {
	tx          pgx.Tx
	workspace   uuid.UUID
	sequence    int64
	entriesLeft int
	bytesLeft   int64
}

// NewReader returns a reader of a moment. It examines at most maxEntries entries of journal_nodes, see
// DefaultMaxEntries. The error is Malformed if the moment is beyond the newest change.
func NewReader(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, m Moment, maxEntries int) (*Reader, error) {
	sequence, err := sequenceAt(ctx, tx, workspace, m)
	if err != nil {
		return nil, err
	}
	return &Reader{tx: tx, workspace: workspace, sequence: sequence, entriesLeft: maxEntries, bytesLeft: maxBytes}, nil
}

// Sequence returns the sequence of the last change of the state that is read.
func (r *Reader) Sequence() int64 { return r.sequence }

// ErrPurged returns the error of a read of a node or an edge whose content was purged.
func ErrPurged(what string) error {
	return fault.New(fault.NotFound, "The content of the "+what+" was purged").With("reason", reasonPurged)
}

// ErrTooLong returns the error of a read of a history that has too many changes.
func ErrTooLong() error {
	return fault.New(
		fault.Invalid, "The history up to this moment has too many changes: read a moment after fewer changes",
	).With("reason", reasonHistoryTooLong)
}

// Nodes returns those of the nodes that were live, and which of them were purged since.
func (r *Reader) Nodes(
	ctx context.Context, ids []uuid.UUID,
) (live map[uuid.UUID]graph.Node, purged map[uuid.UUID]bool, err error) {
	live, purged = make(map[uuid.UUID]graph.Node, len(ids)), map[uuid.UUID]bool{}
	rows, err := r.tx.Query(ctx, `SELECT `+graphrow.NodeColumns+`, created_by, changed_by, deleted, deleted AND purge <> 0
		FROM nodes WHERE workspace_id = $1 AND id = ANY($2)`, r.workspace, ids)
	if err != nil {
		return nil, nil, err
	}
	var (
		n                    graph.Node
		text                 graphrow.StoredText
		createdBy, changedBy int64
		deleted, isPurged    bool
		changed              []uuid.UUID
	)
	_, err = pgx.ForEachRow(rows, []any{
		&n.ID, &n.Name, &n.EntityType, &n.Description, &text.Properties, &n.CreatedAt, &n.UpdatedAt, &n.Version,
		&createdBy, &changedBy, &deleted, &isPurged,
	}, func() error {
		switch {
		case createdBy > r.sequence:
		case isPurged:
			purged[n.ID] = true
		case changedBy > r.sequence:
			changed = append(changed, n.ID)
		case !deleted:
			node := n
			err := text.Into(&node.Properties, &node.Lifecycle)
			live[n.ID] = node
			return err
		}
		return nil
	})
	if err == nil && len(changed) > 0 {
		err = r.changedNodes(ctx, changed, live)
	}
	return live, purged, err
}

// changedNodes adds those of the nodes that were live, from the journal.
func (r *Reader) changedNodes(ctx context.Context, ids []uuid.UUID, live map[uuid.UUID]graph.Node) error {
	last, err := r.lastSteps(ctx, ids, ids)
	if err != nil {
		return err
	}
	return r.readChanges(ctx, distinct(last), func(c *graph.Change) error {
		for i := range c.Steps {
			n := c.Steps[i].Node
			if n == nil || last[n.ID] != int64(c.Sequence) {
				continue
			}
			if live[n.ID] = *n; n.Deleted {
				delete(live, n.ID)
			}
		}
		return nil
	})
}

// selectLastSteps finds the last change with a step of each node or edge. A step has the id in field 1 of the message
// Node or Edge: the bytes 0a 10 precede it. anchor is the node whose history has the changes.
const selectLastSteps = `SELECT r.id, s.sequence FROM unnest($3::uuid[], $4::uuid[]) AS r (id, anchor)
	LEFT JOIN LATERAL (
		SELECT k.sequence FROM (
			SELECT sequence FROM journal_nodes WHERE workspace_id = $1 AND node_id = r.anchor AND sequence <= $2
			ORDER BY sequence DESC LIMIT $5) k
		JOIN journal j ON j.workspace_id = $1 AND j.sequence = k.sequence
		WHERE position('\x0a10'::bytea || uuid_send(r.id) IN j.change) > 0
		ORDER BY k.sequence DESC LIMIT 1) s ON true`

// lastSteps returns the sequence of the last change with a step of each node or edge, which is in the history of its
// anchor.
func (r *Reader) lastSteps(ctx context.Context, ids, anchors []uuid.UUID) (map[uuid.UUID]int64, error) {
	rows, err := r.tx.Query(ctx, selectLastSteps, r.workspace, r.sequence, ids, anchors, r.entriesLeft)
	if err != nil {
		return nil, err
	}
	var (
		id       uuid.UUID
		sequence *int64
	)
	last := make(map[uuid.UUID]int64, len(ids))
	_, err = pgx.ForEachRow(rows, []any{&id, &sequence}, func() error {
		if sequence == nil { // it was created by a change before those that are examined
			return ErrTooLong()
		}
		last[id] = *sequence
		return nil
	})
	return last, err
}

// readChanges decodes changes in the order of their sequences.
func (r *Reader) readChanges(ctx context.Context, sequences []int64, use func(*graph.Change) error) error {
	if len(sequences) == 0 {
		return nil
	}
	rows, err := r.tx.Query(ctx, `SELECT change FROM journal WHERE workspace_id = $1 AND sequence = ANY($2)
		ORDER BY sequence`, r.workspace, sequences)
	if err != nil {
		return err
	}
	var encoded []byte
	_, err = pgx.ForEachRow(rows, []any{&encoded}, func() error {
		if r.bytesLeft < 0 {
			return ErrTooLong()
		}
		r.bytesLeft -= int64(len(encoded))
		c, err := graphrecord.DecodeChange(encoded)
		if err != nil {
			return err
		}
		return use(c)
	})
	return err
}

func distinct[K comparable](sequences map[K]int64) []int64 {
	list := make([]int64, 0, len(sequences))
	for _, s := range sequences {
		list = append(list, s)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Edge returns an edge, or nil if it was not live.
func (r *Reader) Edge(ctx context.Context, id uuid.UUID) (*graph.Edge, error) {
	var (
		e                    graph.Edge
		text                 graphrow.StoredText
		createdBy, changedBy int64
		deleted              bool
	)
	err := r.tx.QueryRow(ctx, `SELECT `+graphrow.EdgeColumns+`, created_by, changed_by, deleted FROM edges
		WHERE workspace_id = $1 AND id = $2`, r.workspace, id).Scan(
		&e.ID, &e.SourceID, &e.TargetID, &e.RelationType, &text.Properties, &e.CreatedAt, &e.UpdatedAt, &e.Version,
		&createdBy, &changedBy, &deleted,
	)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && createdBy > r.sequence:
		return nil, nil
	case err != nil:
		return nil, err
	case changedBy > r.sequence:
		return r.changedEdge(ctx, &e)
	case deleted:
		return nil, nil
	}
	return &e, text.Into(&e.Properties, &e.Lifecycle)
}

// changedEdge returns an edge from the journal, or nil if it was not live.
func (r *Reader) changedEdge(ctx context.Context, row *graph.Edge) (*graph.Edge, error) {
	ends := []uuid.UUID{row.SourceID, row.TargetID}
	purged, err := r.Purged(ctx, ends)
	if err == nil && len(purged) > 0 {
		err = ErrPurged("edge")
	}
	if err != nil {
		return nil, err
	}
	counts, err := r.countEntries(ctx, ends, []int64{0, 0})
	if err != nil {
		return nil, err
	}
	anchor := row.SourceID // the end with the shorter history
	if counts[row.TargetID] < counts[anchor] {
		anchor = row.TargetID
	}
	last, err := r.lastSteps(ctx, []uuid.UUID{row.ID}, []uuid.UUID{anchor})
	if err != nil {
		return nil, err
	}
	h := edgehistory.New(func(e *graph.Edge) bool { return e.ID == row.ID })
	if err := r.readChanges(ctx, distinct(last), h.Add); err != nil {
		return nil, err
	}
	from := last[row.ID]
	if err := r.ReadCascades(ctx, h, map[uuid.UUID]int64{row.SourceID: from, row.TargetID: from}); err != nil {
		return nil, err
	}
	if e := h.State(row.ID); !e.Deleted {
		return e, nil
	}
	return nil, nil
}

// Purged returns those of the nodes that were purged.
func (r *Reader) Purged(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	rows, err := r.tx.Query(
		ctx, `SELECT id FROM nodes WHERE workspace_id = $1 AND id = ANY($2) AND deleted AND purge <> 0`, r.workspace, ids,
	)
	if err != nil {
		return nil, err
	}
	found := map[uuid.UUID]bool{}
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { found[id] = true; return nil })
	return found, err
}
