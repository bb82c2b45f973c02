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
	base      graph.Sequence             // of remembered stacks that are true; noStacks: of none
	stacks    map[uuid.UUID]graph.Stacks // by actor, uuid.Nil: the workspace's; those that were asked for
	own       map[uuid.UUID]bool         // stacks that are copies, free to change
	touched   map[uuid.UUID]bool         // actors whose stacks are others than before, also if they are not in stacks
	moves     []stackMove                // all of this transaction, in their order
	fresh     []graph.Entry              // made in this transaction
	byCommand map[uuid.UUID]graph.Sequence
	cancelled map[graph.Sequence]graph.Sequence // what this transaction undid, and by which change, or redid (0)
}

// noStacks is as of when no stacks are.
const noStacks graph.Sequence = -1

// stackMove is what a change does to the stacks of its entry's actor and of the
// workspace.
type stackMove struct {
	entry graph.Entry
	kind  graph.Type // UNDO or REDO of the entry; any other: it is new
}

func (m *stackMove) apply(to *graph.Stacks) {
	switch m.kind {
	case graph.TypeUndo:
		to.Cancel(m.entry)
	case graph.TypeRedo:
		to.Restore(m.entry)
	default:
		to.Add(m.entry)
	}
}

func newUndoState() undoState {
	return undoState{
		stacks: map[uuid.UUID]graph.Stacks{}, own: map[uuid.UUID]bool{}, touched: map[uuid.UUID]bool{},
		byCommand: map[uuid.UUID]graph.Sequence{}, cancelled: map[graph.Sequence]graph.Sequence{},
	}
}

// remember takes up stacks that are of the head. Others are worth nothing.
func (u *undoState) remember(head graph.Sequence, remembered *RememberedStacks) {
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
	move := stackMove{kind: c.Type}
	if entry, ok := c.Entry(); ok {
		move.entry = entry
		u.fresh = append(u.fresh, entry)
		u.byCommand[entry.CommandID] = entry.Sequence
	} else {
		move.entry, _ = target.Entry()
		if c.Type == graph.TypeUndo {
			move.entry.CancelledBy = c.Sequence
		}
		u.cancelled[target.Sequence] = move.entry.CancelledBy
	}
	u.moves = append(u.moves, move)
	for _, whose := range []uuid.UUID{move.entry.Actor, uuid.Nil} {
		u.touched[whose] = true
		if _, known := u.stacks[whose]; known {
			stacks := u.ownStacks(whose)
			move.apply(&stacks)
			u.stacks[whose] = stacks
		}
	}
}

// ownStacks returns stacks to change.
func (u *undoState) ownStacks(whose uuid.UUID) graph.Stacks {
	stacks := u.stacks[whose]
	if !u.own[whose] {
		u.own[whose] = true
		stacks.Standing = append(make([]graph.Entry, 0, len(stacks.Standing)+8), stacks.Standing...)
		stacks.Cancelled = slices.Clone(stacks.Cancelled)
	}
	return stacks
}

// newer brings stacks that were read to where this transaction is.
func (u *undoState) newer(whose uuid.UUID, read graph.Stacks) graph.Stacks {
	for i := range u.moves {
		if whose == uuid.Nil || u.moves[i].entry.Actor == whose {
			u.moves[i].apply(&read)
		}
	}
	return read
}

const selectEntry = `SELECT sequence, actor_id, type, cancelled_by FROM undo_entries WHERE workspace_id = $1
	AND command_id = $2`

// stacksRead is how many entries of a list are read of an actor: so many commands beyond
// the depth can be undone, or redone, before the stacks are short.
const stacksRead = 2 * graph.StackDepth

// selectStacks gives for each actor, uuid.Nil is everybody, its newest command, the newest
// that stand, and those that were undone after the newest. OFFSET 0 has the newest be
// found once.
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

// readStacks takes up stacks of which at most limit entries of a list were asked for. An
// actor without entries has empty ones.
func (tx *Tx) readStacks(asked postgres.IDList, limit int) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var workspace, whose uuid.UUID
		var newest graph.Sequence
		var e graph.Entry
		found := map[graphID]graph.Stacks{}
		to := []any{&workspace, &whose, &newest, &e.Sequence, &e.CommandID, &e.Actor, &e.Type, &e.CancelledBy}
		_, err := pgx.ForEachRow(rows, to, func() error {
			key := graphID{workspace, whose}
			stacks := found[key]
			if stacks.Newest = newest; e.CancelledBy == 0 {
				stacks.Standing = append(stacks.Standing, e)
			} else {
				stacks.Cancelled = append(stacks.Cancelled, e)
			}
			found[key] = stacks
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading undo stacks: %w", err)
		}
		for i := range asked.IDs {
			workspace, whose := uuid.UUID(asked.Workspaces[i].Bytes), uuid.UUID(asked.IDs[i].Bytes)
			stacks := found[graphID{workspace, whose}]
			if len(stacks.Standing) == limit {
				stacks.StandingFrom = stacks.Standing[0].Sequence
			}
			if len(stacks.Cancelled) == limit {
				stacks.CancelledFrom = stacks.Cancelled[0].CancelledBy
			}
			undo := &tx.states[workspace].undo
			undo.stacks[whose] = undo.newer(whose, stacks)
			undo.own[whose] = true
		}
		return nil
	}
}

// StacksOf implements graph.Journal.
func (s *State) StacksOf(actor uuid.UUID) (graph.Stacks, error) {
	if stacks, known := s.undo.stacks[actor]; known && !stacks.IsShort() {
		return stacks, nil
	}
	l := s.list([]uuid.UUID{actor})
	// What is stored is as of before this transaction, which may have undone, or redone,
	// any of what is read.
	limit := stacksRead + len(s.undo.moves)
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
		for _, entry := range s.undo.fresh {
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

// Stacks returns the stacks as they are after this transaction, so far as they are worth
// remembering, and of which actors they are others than before it, known or not.
func (s *State) Stacks() (stacks *RememberedStacks, changed []uuid.UUID) {
	for whose := range s.undo.touched {
		changed = append(changed, whose)
	}
	for whose, grown := range s.undo.stacks {
		if len(grown.Standing) > stacksRead || len(grown.Cancelled) > stacksRead {
			s.undo.stacks[whose] = grown.Top(stacksRead)
		}
	}
	return &RememberedStacks{Head: s.head, Actors: s.undo.stacks}, changed
}

// StacksBase tells as of which sequence remembered stacks were true when this transaction
// began; negative: whatever is remembered is void.
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
