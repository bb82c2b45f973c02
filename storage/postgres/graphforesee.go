package postgres

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
)

const selectChanges = `SELECT j.workspace_id, j.sequence, j.change
	FROM unnest($1::uuid[], $2::bigint[]) AS t (workspace_id, sequence)
	JOIN journal j ON j.workspace_id = t.workspace_id AND j.sequence = t.sequence`

// foreseenSteps is up to how many steps of changes are looked into for what an UNDO or
// a REDO will touch.
const foreseenSteps = 4096

// foresee reads at once what the UNDO and REDO commands of a group are most likely
// about: the top of each stack, and the resources there. That is a guess, because
// what comes before them in the group changes the stacks. What it misses is read when
// it is asked for.
func (tx *GraphTx) foresee(all []GraphNeeds) error {
	var workspaces uuids
	var sequences []int64
	for i := range all {
		state := tx.states[all[i].Workspace]
		if state == nil {
			continue
		}
		for whose, count := range all[i].Reversals {
			for _, sequence := range topOf(state.undo.stacks[whose], count) {
				workspaces, sequences = append(workspaces, column(state.workspace)), append(sequences, int64(sequence))
			}
		}
	}
	if len(sequences) == 0 {
		return nil
	}
	rows, err := tx.conn.Query(tx.ctx, selectChanges, workspaces, sequences)
	if err == nil {
		err = tx.readChanges(rows)
	}
	if err != nil {
		return fmt.Errorf("reading what may be undone: %w", err)
	}
	return tx.foreseeResources()
}

// topOf returns the sequences of the entries that undos and redos would be about. An
// undo after a redo is about what was redone, and the other way round: that is not
// another entry.
func topOf(stacks graph.Stacks, count Reversals) []graph.Sequence {
	var found []graph.Sequence
	for _, e := range stacks.Standing[max(0, len(stacks.Standing)-count.Undos):] {
		found = append(found, e.Sequence)
	}
	for _, e := range stacks.Cancelled[max(0, len(stacks.Cancelled)-count.Redos):] {
		found = append(found, e.Sequence)
	}
	return found
}

// readChanges takes up changes. One that cannot be read is left to whoever asks for it.
func (tx *GraphTx) readChanges(rows pgx.Rows) error {
	var workspace uuid.UUID
	var sequence graph.Sequence
	var encoded []byte
	_, err := pgx.ForEachRow(rows, []any{&workspace, &sequence, &encoded}, func() error {
		_, _ = tx.states[workspace].keepChange(sequence, encoded)
		return nil
	})
	return err
}

// foreseeResources reads what the changes that were read have touched.
func (tx *GraphTx) foreseeResources() error {
	var nodes, edges, centres idList
	steps := 0
	for _, s := range tx.order {
		seen := map[uuid.UUID]struct{}{}
		for _, c := range s.changes {
			if steps += len(c.Steps); steps > foreseenSteps {
				break
			}
			for i := range c.Steps {
				s.foreseeStep(&c.Steps[i], seen, &nodes, &edges, &centres)
			}
		}
	}
	b := &pgx.Batch{}
	if len(nodes.ids) > 0 {
		b.Queue(selectNodes, nodes.workspaces, nodes.ids).Query(tx.readNodes)
	}
	if len(edges.ids) > 0 {
		b.Queue(selectEdges, edges.workspaces, edges.ids).Query(tx.readEdges)
	}
	if len(centres.ids) > 0 {
		b.Queue(selectEdgesAt, centres.workspaces, centres.ids, tx.edges).Query(tx.readEdgesAt(centres))
	}
	if b.Len() == 0 {
		return nil
	}
	if err := tx.conn.send(tx.ctx, b); err != nil {
		return fmt.Errorf("reading what may be undone: %w", err)
	}
	return nil
}

// foreseeStep lists what undoing or redoing a step looks at and is not in memory.
func (s *GraphState) foreseeStep(step *graph.Step, seen map[uuid.UUID]struct{}, nodes, edges, centres *idList) {
	list := func(to *idList, id uuid.UUID, known bool) {
		if _, listed := seen[id]; !known && !listed {
			seen[id] = struct{}{}
			to.add(s.workspace, []uuid.UUID{id}, nil)
		}
	}
	node := func(id uuid.UUID) {
		_, known := s.nodes[id]
		list(nodes, id, known)
	}
	if n := step.Node; n != nil {
		if _, known := s.whole[n.ID]; !known && step.Type != graph.TypeUpdateNode {
			s.whole[n.ID] = false // until it is read: listed once
			centres.add(s.workspace, []uuid.UUID{n.ID}, nil)
		}
		node(n.ID)
	}
	if e := step.Edge; e != nil {
		_, known := s.edges[e.ID]
		list(edges, e.ID, known)
		node(e.SourceID)
		node(e.TargetID)
	}
}
