package graphstore

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	insertJournal = `INSERT INTO journal (workspace_id, sequence, command_id, at, change)
		SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::bytea[])`
	insertJournalNodes = `INSERT INTO journal_nodes (workspace_id, node_id, sequence)
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[])`
	insertEntries = `INSERT INTO undo_entries (workspace_id, sequence, command_id, actor_id, type, cancelled_by)
		SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::text[], $6::bigint[])`
	cancelEntries = `UPDATE undo_entries u SET cancelled_by = t.cancelled_by
		FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS t (workspace_id, sequence, cancelled_by)
		WHERE u.workspace_id = t.workspace_id AND u.sequence = t.sequence`
	insertOutcomes = `INSERT INTO command_outcomes (workspace_id, command_id, actor_id, outcome)
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bytea[])`
	deleteOutcomes = `DELETE FROM command_outcomes c USING unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, command_id)
		WHERE c.workspace_id = t.workspace_id AND c.command_id = t.command_id`
	moveHeads = `UPDATE graph_heads h SET sequence = t.sequence
		FROM unnest($1::uuid[], $2::bigint[]) AS t (workspace_id, sequence)
		WHERE h.workspace_id = t.workspace_id`
)

// queueChanges queues the statements that write the changes recorded since the last call, and
// the nodes that they touched.
func (tx *Tx) queueChanges(b *pgx.Batch) error {
	var (
		workspaces, commands postgres.UUIDs
		sequences            []int64
		times                []time.Time
		changes              [][]byte
		touched              postgres.IDList
		touchedBy            []int64
	)
	for _, s := range tx.order {
		for _, c := range s.journal[s.written:] {
			encoded, err := graphrecord.EncodeChange(c)
			if err != nil {
				return err
			}
			workspaces, commands = append(workspaces, postgres.UUID(s.workspace)), append(commands, postgres.UUID(c.CommandID))
			sequences, times = append(sequences, int64(c.Sequence)), append(times, micros(c.At))
			changes = append(changes, encoded)
			before := len(touched.IDs)
			touched.Add(s.workspace, touchedNodes(c), nil)
			for range len(touched.IDs) - before {
				touchedBy = append(touchedBy, int64(c.Sequence))
			}
		}
		s.written = len(s.journal)
	}
	if len(changes) == 0 {
		return nil
	}
	b.Queue(insertJournal, workspaces, sequences, commands, times, changes)
	if len(touched.IDs) > 0 {
		b.Queue(insertJournalNodes, touched.Workspaces, touched.IDs, touchedBy)
	}
	return nil
}

// touchedNodes returns the nodes whose history contains a change: those that it touched, and
// the ends of the edges that it touched. The edges of a cascade are only in the history of
// the deleted node, not in those of the nodes at their other ends, which may be a hundred
// thousand.
func touchedNodes(c *graph.Change) []uuid.UUID {
	seen := make(map[uuid.UUID]struct{}, len(c.Steps))
	ids := make([]uuid.UUID, 0, len(c.Steps))
	add := func(id uuid.UUID) {
		if _, ok := seen[id]; !ok {
			seen[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	for i := range c.Steps {
		if n := c.Steps[i].Node; n != nil {
			add(n.ID)
		}
		if e := c.Steps[i].Edge; e != nil {
			add(e.SourceID)
			add(e.TargetID)
		}
	}
	return ids
}

// queueEntries queues the statements that insert and update undo entries.
func (tx *Tx) queueEntries(b *pgx.Batch) {
	var (
		workspaces, commands, actors postgres.UUIDs
		sequences, cancelledBy       []int64
		types                        []string
		updatedWorkspaces            postgres.UUIDs
		updatedSequences, updatedBy  []int64
	)
	for _, s := range tx.order {
		for _, entry := range s.undo.newEntries {
			workspaces, actors = append(workspaces, postgres.UUID(s.workspace)), append(actors, postgres.UUID(entry.Actor))
			commands = append(commands, postgres.UUID(entry.CommandID))
			sequences, types = append(sequences, int64(entry.Sequence)), append(types, string(entry.Type))
			cancelledBy = append(cancelledBy, int64(s.undo.cancelled[entry.Sequence]))
		}
		for sequence, undo := range s.undo.cancelled {
			if len(s.undo.newEntries) > 0 && sequence >= s.undo.newEntries[0].Sequence {
				continue // it is inserted with the value
			}
			updatedWorkspaces = append(updatedWorkspaces, postgres.UUID(s.workspace))
			updatedSequences, updatedBy = append(updatedSequences, int64(sequence)), append(updatedBy, int64(undo))
		}
	}
	if len(commands) > 0 {
		b.Queue(insertEntries, workspaces, sequences, commands, actors, types, cancelledBy)
	}
	if len(updatedWorkspaces) > 0 {
		b.Queue(cancelEntries, updatedWorkspaces, updatedSequences, updatedBy)
	}
}

func (tx *Tx) queueOutcomes(b *pgx.Batch) {
	if len(tx.outcomes) == 0 {
		return
	}
	var l postgres.IDList
	actors, encoded := make(postgres.UUIDs, len(tx.outcomes)), make([][]byte, len(tx.outcomes))
	for i, o := range tx.outcomes {
		l.Workspaces, l.IDs = append(l.Workspaces, postgres.UUID(o.workspace)), append(l.IDs, postgres.UUID(o.id))
		actors[i], encoded[i] = postgres.UUID(o.actor), o.encoded
	}
	if len(tx.replaced.IDs) > 0 {
		b.Queue(deleteOutcomes, tx.replaced.Workspaces, tx.replaced.IDs)
	}
	b.Queue(insertOutcomes, l.Workspaces, l.IDs, actors, encoded)
}

func (tx *Tx) queueHeads(b *pgx.Batch) {
	var workspaces postgres.UUIDs
	var heads []int64
	for _, s := range tx.order {
		if len(s.journal) > 0 {
			workspaces, heads = append(workspaces, postgres.UUID(s.workspace)), append(heads, int64(s.head))
		}
	}
	if len(workspaces) > 0 {
		b.Queue(moveHeads, workspaces, heads)
	}
}
