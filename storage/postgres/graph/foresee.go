package graphstore

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
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
func (tx *Tx) foresee(all []Needs) error {
	var workspaces postgres.UUIDs
	var sequences []int64
	for i := range all {
		state := tx.states[all[i].Workspace]
		if state == nil {
			continue
		}
		for whose, count := range all[i].Reversals {
			for _, sequence := range topOf(state.undo.stacks[whose], count) {
				workspaces, sequences = append(workspaces, postgres.UUID(state.workspace)), append(sequences, int64(sequence))
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
	f := foreseer{tx: tx, left: foreseenSteps}
	for _, s := range tx.order {
		for _, c := range s.changes {
			f.change(s, c)
		}
	}
	return f.read()
}

// Foresee implements graph.State.
func (s *State) Foresee(c *graph.Change) error {
	f := foreseer{tx: s.tx, left: foreseenSteps}
	f.change(s, c)
	return f.read()
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

// readChanges takes up changes. One that cannot be read is left to anyone who asks for it.
func (tx *Tx) readChanges(rows pgx.Rows) error {
	var workspace uuid.UUID
	var sequence graph.Sequence
	var encoded []byte
	_, err := pgx.ForEachRow(rows, []any{&workspace, &sequence, &encoded}, func() error {
		_, _ = tx.states[workspace].keepChange(sequence, encoded)
		return nil
	})
	return err
}

// foreseer lists what undoing or redoing changes looks at and is not in memory.
type foreseer struct {
	tx                    *Tx
	left                  int // steps
	seen                  map[graphID]struct{}
	nodes, edges, centres postgres.IDList
}

func (f *foreseer) change(s *State, c *graph.Change) {
	if f.left -= len(c.Steps); f.left < 0 {
		return
	}
	for i := range c.Steps {
		f.step(s, &c.Steps[i])
	}
}

func (f *foreseer) step(s *State, step *graph.Step) {
	if n := step.Node; n != nil {
		if _, known := s.whole[n.ID]; !known && step.Type != graph.TypeUpdateNode {
			s.whole[n.ID] = false // until it is read: listed once
			f.centres.Add(s.workspace, []uuid.UUID{n.ID}, nil)
		}
		f.node(s, n.ID)
	}
	if e := step.Edge; e != nil {
		_, known := s.edges[e.ID]
		f.list(s, &f.edges, e.ID, known)
		f.node(s, e.SourceID)
		f.node(s, e.TargetID)
	}
}

func (f *foreseer) node(s *State, id uuid.UUID) {
	_, known := s.nodes[id]
	f.list(s, &f.nodes, id, known)
}

func (f *foreseer) list(s *State, to *postgres.IDList, id uuid.UUID, known bool) {
	key := graphID{s.workspace, id}
	if _, listed := f.seen[key]; known || listed {
		return
	}
	if f.seen == nil {
		f.seen = map[graphID]struct{}{}
	}
	f.seen[key] = struct{}{}
	to.Add(s.workspace, []uuid.UUID{id}, nil)
}

// read reads what is listed.
func (f *foreseer) read() error {
	b := &pgx.Batch{}
	if len(f.nodes.IDs) > 0 {
		b.Queue(selectNodes, f.nodes.Workspaces, f.nodes.IDs).Query(f.tx.readNodes)
	}
	if len(f.edges.IDs) > 0 {
		b.Queue(selectEdges, f.edges.Workspaces, f.edges.IDs).Query(f.tx.readEdges)
	}
	if len(f.centres.IDs) > 0 {
		b.Queue(selectEdgesAt, f.centres.Workspaces, f.centres.IDs, f.tx.edges).Query(f.tx.readEdgesAt(f.centres))
	}
	if b.Len() == 0 {
		return nil
	}
	if err := f.tx.conn.send(f.tx.ctx, b); err != nil {
		return fmt.Errorf("reading what may be undone: %w", err)
	}
	return nil
}
