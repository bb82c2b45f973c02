package graphstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/postgres"
)

// undoState are the stacks of a workspace inside a transaction.
type undoState struct {
	base       graph.Sequence             // sequence at which remembered stacks are valid, or noStacks
	stacks     map[uuid.UUID]graph.Stacks // those in memory, by actor; uuid.Nil: the workspace's
	writable   map[uuid.UUID]bool         // whether the stacks are a private copy that may be changed
	touched    map[uuid.UUID]bool         // actors whose stacks changed, including those not in stacks
	moves      []stackMove                // all of this transaction, in order
	newEntries []graph.Entry              // created in this transaction
	byCommand  map[uuid.UUID]graph.Sequence
	cancelled  map[graph.Sequence]graph.Sequence // entries undone here, with the change that did; 0: redone
}

// noStacks is the base if no remembered stacks are valid.
const noStacks graph.Sequence = -1

// stackMove is the effect of a change on the stacks of the entry's actor and of the workspace.
type stackMove struct {
	entry graph.Entry
	kind  graph.Type // UNDO or REDO of the entry; any other: the entry is new
}

func (m *stackMove) apply(stacks *graph.Stacks) {
	switch m.kind {
	case graph.TypeUndo:
		stacks.Cancel(m.entry)
	case graph.TypeRedo:
		stacks.Restore(m.entry)
	default:
		stacks.Add(m.entry)
	}
}

func newUndoState() undoState {
	return undoState{
		stacks: map[uuid.UUID]graph.Stacks{}, writable: map[uuid.UUID]bool{}, touched: map[uuid.UUID]bool{},
		byCommand: map[uuid.UUID]graph.Sequence{}, cancelled: map[graph.Sequence]graph.Sequence{},
	}
}

// useRemembered sets the stacks to the remembered ones if those are as of the head. Others are
// not valid.
func (u *undoState) useRemembered(head graph.Sequence, remembered *RememberedStacks) {
	if remembered == nil || remembered.Head != head {
		return
	}
	read := u.stacks // read by this transaction, so they are valid, too
	u.stacks = maps.Clone(remembered.Actors)
	if u.stacks == nil {
		u.stacks = map[uuid.UUID]graph.Stacks{}
	}
	maps.Copy(u.stacks, read)
}

// record applies a change of the journal to the stacks. target is the change that an UNDO or a
// REDO applies to.
func (u *undoState) record(c, target *graph.Change) {
	move := stackMove{kind: c.Type}
	if entry, ok := c.Entry(); !ok && target == nil { // a change of links
		return
	} else if ok {
		move.entry = entry
		u.newEntries = append(u.newEntries, entry)
		u.byCommand[entry.CommandID] = entry.Sequence
	} else {
		move.entry, _ = target.Entry()
		if c.Type == graph.TypeUndo {
			move.entry.CancelledBy = c.Sequence
		}
		u.cancelled[target.Sequence] = move.entry.CancelledBy
	}
	u.moves = append(u.moves, move)
	for _, owner := range []uuid.UUID{move.entry.Actor, uuid.Nil} {
		u.touched[owner] = true
		if _, known := u.stacks[owner]; known {
			stacks := u.writableStacks(owner)
			move.apply(&stacks)
			u.stacks[owner] = stacks
		}
	}
}

// writableStacks returns the stacks of an owner, copied on the first call so that the caller
// may change them.
func (u *undoState) writableStacks(owner uuid.UUID) graph.Stacks {
	stacks := u.stacks[owner]
	if !u.writable[owner] {
		u.writable[owner] = true
		stacks.Undoable = append(make([]graph.Entry, 0, len(stacks.Undoable)+8), stacks.Undoable...)
		stacks.Redoable = slices.Clone(stacks.Redoable)
	}
	return stacks
}

// applyMoves applies the changes of this transaction to stacks that were read.
func (u *undoState) applyMoves(owner uuid.UUID, read graph.Stacks) graph.Stacks {
	for i := range u.moves {
		if owner == uuid.Nil || u.moves[i].entry.Actor == owner {
			u.moves[i].apply(&read)
		}
	}
	return read
}

const selectEntry = `SELECT sequence, actor_id, type, cancelled_by FROM undo_entries WHERE workspace_id = $1
	AND command_id = $2`

// stackReadLimit is the number of entries of each list that are read for an actor. The entries
// beyond the depth allow that many commands to be undone, or redone, before the stacks are
// short.
const stackReadLimit = 2 * graph.StackDepth

// selectStacks selects for each actor the newest command, the newest entries in effect, and
// those undone after the newest command. The actor uuid.Nil means all actors. OFFSET 0
// makes the planner compute the newest command once.
const selectStacks = `SELECT t.workspace_id, t.actor_id, n.newest,
		u.sequence, u.command_id, u.actor_id, u.type, u.cancelled_by
	FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, actor_id)
	CROSS JOIN LATERAL (SELECT t.actor_id = '00000000-0000-0000-0000-000000000000') AS o (all_of_them)
	CROSS JOIN LATERAL (SELECT CASE WHEN o.all_of_them
		THEN (SELECT max(sequence) FROM undo_entries w WHERE w.workspace_id = t.workspace_id)
		ELSE GREATEST(
			(SELECT max(sequence) FROM undo_entries a
				WHERE a.workspace_id = t.workspace_id AND a.actor_id = t.actor_id AND a.cancelled_by = 0),
			(SELECT max(sequence) FROM undo_entries a
				WHERE a.workspace_id = t.workspace_id AND a.actor_id = t.actor_id AND a.cancelled_by > 0))
		END OFFSET 0) AS n (newest)
	CROSS JOIN LATERAL (
		(SELECT * FROM undo_entries a WHERE NOT o.all_of_them
			AND a.workspace_id = t.workspace_id AND a.actor_id = t.actor_id
			AND a.cancelled_by = 0 ORDER BY a.sequence DESC LIMIT $3)
		UNION ALL
		(SELECT * FROM undo_entries w WHERE o.all_of_them AND w.workspace_id = t.workspace_id
			AND w.cancelled_by = 0 AND w.sequence > 0 ORDER BY w.sequence DESC LIMIT $3)
		UNION ALL
		(SELECT * FROM undo_entries a WHERE NOT o.all_of_them
			AND a.workspace_id = t.workspace_id AND a.actor_id = t.actor_id
			AND a.cancelled_by > 0 AND a.cancelled_by > n.newest ORDER BY a.cancelled_by DESC LIMIT $3)
		UNION ALL
		(SELECT * FROM undo_entries w WHERE o.all_of_them AND w.workspace_id = t.workspace_id AND w.sequence > 0
			AND w.cancelled_by > 0 AND w.cancelled_by > n.newest ORDER BY w.cancelled_by DESC LIMIT $3)
	) u ORDER BY u.cancelled_by, u.sequence`

// readStacks stores the requested stacks, which were read with at most limit entries in each
// list. An actor without entries has empty stacks.
func (tx *Tx) readStacks(requested postgres.IDList, limit int) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var workspace, owner uuid.UUID
		var newest graph.Sequence
		var e graph.Entry
		found := map[graphID]graph.Stacks{}
		dest := []any{&workspace, &owner, &newest, &e.Sequence, &e.CommandID, &e.Actor, &e.Type, &e.CancelledBy}
		_, err := pgx.ForEachRow(rows, dest, func() error {
			key := graphID{workspace, owner}
			stacks := found[key]
			if stacks.Newest = newest; e.CancelledBy == 0 {
				stacks.Undoable = append(stacks.Undoable, e)
			} else {
				stacks.Redoable = append(stacks.Redoable, e)
			}
			found[key] = stacks
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading undo stacks: %w", err)
		}
		for i := range requested.IDs {
			workspace, owner := uuid.UUID(requested.Workspaces[i].Bytes), uuid.UUID(requested.IDs[i].Bytes)
			stacks := found[graphID{workspace, owner}]
			if len(stacks.Undoable) == limit {
				stacks.UndoableFrom = stacks.Undoable[0].Sequence
			}
			if len(stacks.Redoable) == limit {
				stacks.RedoableFrom = stacks.Redoable[0].CancelledBy
			}
			undo := &tx.states[workspace].undo
			undo.stacks[owner] = undo.applyMoves(owner, stacks)
			undo.writable[owner] = true
		}
		return nil
	}
}

// StacksOf implements graph.Journal.
func (s *State) StacksOf(actor uuid.UUID) (graph.Stacks, error) {
	if stacks, known := s.undo.stacks[actor]; known && !stacks.IsShort() {
		return stacks, nil
	}
	l := s.idList([]uuid.UUID{actor})
	// The stored entries are as of before this transaction, which may have undone or redone
	// any of those that are read.
	limit := stackReadLimit + len(s.undo.moves)
	rows, err := s.tx.conn.Query(s.tx.ctx, selectStacks, l.Workspaces, l.IDs, limit)
	if err == nil {
		err = s.tx.readStacks(l, limit)(rows)
	}
	if err != nil {
		return graph.Stacks{}, fmt.Errorf("reading the stacks of an actor: %w", err)
	}
	return s.undo.stacks[actor], nil
}

// Depths reports how many commands an actor can undo and redo.
func (s *State) Depths(actor uuid.UUID) (undo, redo int, err error) {
	stacks, err := s.StacksOf(actor)
	if err != nil {
		return 0, 0, err
	}
	undo, redo = stacks.Depths()
	return undo, redo, nil
}

// Entry implements graph.Journal.
func (s *State) Entry(commandID uuid.UUID) (*graph.Entry, error) {
	if sequence, ok := s.undo.byCommand[commandID]; ok {
		for _, entry := range s.undo.newEntries {
			if entry.Sequence == sequence {
				entry.CancelledBy = s.undo.cancelled[sequence]
				return &entry, nil
			}
		}
	}
	e := graph.Entry{CommandID: commandID}
	err := s.tx.conn.QueryRow(s.tx.ctx, selectEntry, s.workspace, commandID).Scan(
		&e.Sequence, &e.Actor, &e.Type, &e.CancelledBy,
	)
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

// Stacks returns the stacks after this transaction that are in memory, with at most
// stackReadLimit entries in each list. changed lists all actors whose stacks the transaction
// changed, including those whose stacks are not in memory.
func (s *State) Stacks() (stacks *RememberedStacks, changed []uuid.UUID) {
	for owner := range s.undo.touched {
		changed = append(changed, owner)
	}
	for owner, grown := range s.undo.stacks {
		if len(grown.Undoable) > stackReadLimit || len(grown.Redoable) > stackReadLimit {
			s.undo.stacks[owner] = grown.Top(stackReadLimit)
		}
	}
	return &RememberedStacks{Head: s.head, Actors: s.undo.stacks}, changed
}

// StacksBase returns the sequence at which remembered stacks were valid when this transaction
// began. It is negative if no remembered stacks are valid.
func (s *State) StacksBase() graph.Sequence { return s.undo.base }

// keepChange decodes a change and keeps it for the rest of the transaction.
func (s *State) keepChange(sequence graph.Sequence, encoded []byte) (*graph.Change, error) {
	c, err := graphrecord.DecodeChange(encoded)
	if err != nil {
		return nil, err
	}
	s.changes[sequence] = c
	return c, nil
}
