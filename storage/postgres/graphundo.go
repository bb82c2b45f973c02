package postgres

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/schemas/graphrecord"
)

// undoState are the stacks of a workspace inside a transaction.
type undoState struct {
	stacks    map[uuid.UUID]graph.Stacks // by actor, uuid.Nil: the workspace's; those that were asked for
	own       map[uuid.UUID]bool         // stacks that are copies, free to change
	touched   map[uuid.UUID]bool         // actors whose stacks are others than before, also if they are not in stacks
	fresh     []graph.Entry              // made in this transaction
	byCommand map[uuid.UUID]graph.Sequence
	cancelled map[graph.Sequence]graph.Sequence // what this transaction undid, and by which change, or redid (0)
}

func newUndoState() undoState {
	return undoState{
		stacks: map[uuid.UUID]graph.Stacks{}, own: map[uuid.UUID]bool{}, touched: map[uuid.UUID]bool{},
		byCommand: map[uuid.UUID]graph.Sequence{}, cancelled: map[graph.Sequence]graph.Sequence{},
	}
}

// remember takes up stacks that are of the head. Others are worth nothing.
func (u *undoState) remember(head graph.Sequence, remembered *GraphStacks) {
	if remembered == nil || remembered.Head != head {
		return
	}
	read := u.stacks // by this transaction, so they are as good
	u.stacks = maps.Clone(remembered.Actors)
	if u.stacks == nil {
		u.stacks = map[uuid.UUID]graph.Stacks{}
	}
	maps.Copy(u.stacks, read)
}

// record changes the stacks as a change of the journal does. target is the change
// that an UNDO or a REDO is about.
func (u *undoState) record(c, target *graph.Change) {
	if entry, ok := c.Entry(); ok {
		u.fresh = append(u.fresh, entry)
		u.byCommand[entry.CommandID] = entry.Sequence
		for _, whose := range []uuid.UUID{entry.Actor, uuid.Nil} {
			u.touched[whose] = true
			if _, known := u.stacks[whose]; known {
				stack := append(u.ownStack(whose), entry)
				u.stacks[whose] = stack[max(0, len(stack)-graph.StackDepth):]
			}
		}
		return
	}
	undoneBy := graph.Sequence(0)
	if c.Type == graph.TypeUndo {
		undoneBy = c.Sequence
	}
	u.cancelled[c.Target.Sequence] = undoneBy
	u.touched[target.Actor], u.touched[uuid.Nil] = true, true
	for whose, stack := range u.stacks {
		if i := slices.IndexFunc(stack, func(e graph.Entry) bool { return e.Sequence == c.Target.Sequence }); i >= 0 {
			u.ownStack(whose)[i].CancelledBy = undoneBy
		}
	}
}

// ownStack gives a stack to change.
func (u *undoState) ownStack(whose uuid.UUID) graph.Stacks {
	if !u.own[whose] {
		u.own[whose] = true
		u.stacks[whose] = append(make(graph.Stacks, 0, graph.StackDepth+8), u.stacks[whose]...)
	}
	return u.stacks[whose]
}

// newer brings entries that were read to where this transaction is.
func (u *undoState) newer(whose uuid.UUID, read graph.Stacks) graph.Stacks {
	for i := range read {
		if by, ok := u.cancelled[read[i].Sequence]; ok {
			read[i].CancelledBy = by
		}
	}
	for _, entry := range u.fresh {
		if whose == uuid.Nil || entry.Actor == whose {
			entry.CancelledBy = u.cancelled[entry.Sequence]
			read = append(read, entry)
		}
	}
	return read[max(0, len(read)-graph.StackDepth):]
}

const selectEntry = `SELECT sequence, actor_id, type, cancelled_by FROM undo_entries WHERE workspace_id = $1 AND command_id = $2`

// selectStacks gives the newest entries of actors; uuid.Nil is everybody.
const selectStacks = `SELECT t.workspace_id, t.actor_id, u.sequence, u.command_id, u.actor_id, u.type, u.cancelled_by
	FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, actor_id)
	CROSS JOIN LATERAL (
		(SELECT * FROM undo_entries a WHERE t.actor_id <> '00000000-0000-0000-0000-000000000000'
			AND a.workspace_id = t.workspace_id AND a.actor_id = t.actor_id ORDER BY a.sequence DESC LIMIT $3)
		UNION ALL
		(SELECT * FROM undo_entries w WHERE t.actor_id = '00000000-0000-0000-0000-000000000000'
			AND w.workspace_id = t.workspace_id ORDER BY w.sequence DESC LIMIT $3)
	) u ORDER BY u.sequence`

// readStacks takes up stacks; an actor without entries has an empty one.
func (tx *GraphTx) readStacks(asked idList) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var workspace, whose uuid.UUID
		var e graph.Entry
		found := map[graphID]graph.Stacks{}
		_, err := pgx.ForEachRow(rows, []any{&workspace, &whose, &e.Sequence, &e.CommandID, &e.Actor, &e.Type, &e.CancelledBy}, func() error {
			key := graphID{workspace, whose}
			found[key] = append(found[key], e)
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading undo stacks: %w", err)
		}
		for i := range asked.ids {
			workspace, whose := uuid.UUID(asked.workspaces[i].Bytes), uuid.UUID(asked.ids[i].Bytes)
			undo := &tx.states[workspace].undo
			undo.stacks[whose] = undo.newer(whose, found[graphID{workspace, whose}])
			undo.own[whose] = true
		}
		return nil
	}
}

// Newest implements graph.Journal. A limit other than graph.StackDepth is not asked
// for.
func (s *GraphState) Newest(actor uuid.UUID, limit int) ([]graph.Entry, error) {
	stack, known := s.undo.stacks[actor]
	if !known {
		l := s.list([]uuid.UUID{actor})
		rows, err := s.tx.conn.Query(s.tx.ctx, selectStacks, l.workspaces, l.ids, graph.StackDepth)
		if err == nil {
			err = s.tx.readStacks(l)(rows)
		}
		if err != nil {
			return nil, fmt.Errorf("reading an undo stack: %w", err)
		}
		stack = s.undo.stacks[actor]
	}
	return stack[max(0, len(stack)-limit):], nil
}

// Depths says how many commands an actor can undo and redo.
func (s *GraphState) Depths(actor uuid.UUID) (undo, redo int, err error) {
	stack, err := s.Newest(actor, graph.StackDepth)
	if err != nil {
		return 0, 0, err
	}
	undo, redo = graph.Stacks(stack).Depths()
	return undo, redo, nil
}

// Entry implements graph.Journal.
func (s *GraphState) Entry(commandID uuid.UUID) (*graph.Entry, error) {
	if sequence, ok := s.undo.byCommand[commandID]; ok {
		for _, entry := range s.undo.fresh {
			if entry.Sequence == sequence {
				entry.CancelledBy = s.undo.cancelled[sequence]
				return &entry, nil
			}
		}
	}
	e := graph.Entry{CommandID: commandID}
	err := s.tx.conn.QueryRow(s.tx.ctx, selectEntry, s.workspace, commandID).Scan(&e.Sequence, &e.Actor, &e.Type, &e.CancelledBy)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading an undo entry: %w", err)
	}
	if by, ok := s.undo.cancelled[e.Sequence]; ok {
		e.CancelledBy = by
	}
	return &e, nil
}

// Stacks gives the stacks as they are after this transaction, and of which actors
// they are others than before it, known or not.
func (s *GraphState) Stacks() (stacks *GraphStacks, changed []uuid.UUID) {
	for whose := range s.undo.touched {
		changed = append(changed, whose)
	}
	return &GraphStacks{Head: s.head, Actors: s.undo.stacks}, changed
}

// keepChange decodes a change and keeps it for the rest of the transaction.
func (s *GraphState) keepChange(sequence graph.Sequence, encoded []byte) (*graph.Change, error) {
	c, err := graphrecord.DecodeChange(encoded)
	if err != nil {
		return nil, err
	}
	s.changes[sequence] = c
	return c, nil
}
