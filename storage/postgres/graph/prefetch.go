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

// maxPrefetchSteps is the maximum number of steps of changes that are searched for the
// resources that an UNDO or a REDO will touch.
const maxPrefetchSteps = 4096

// prefetch reads together what the UNDO and REDO commands of a group most likely need: the
// top of each stack, and the resources of these changes. This is a guess, because earlier
// commands of the group change the stacks. What it misses is read on demand.
func (tx *Tx) prefetch(all []Needs) error {
	var workspaces postgres.UUIDs
	var sequences []int64
	for i := range all {
		state := tx.states[all[i].Workspace]
		if state == nil {
			continue
		}
		for owner, count := range all[i].Reversals {
			for _, sequence := range topSequences(state.undo.stacks[owner], count) {
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
	f := prefetcher{tx: tx, stepsLeft: maxPrefetchSteps}
	for _, s := range tx.order {
		for _, c := range s.changes {
			f.change(s, c)
		}
	}
	return f.read()
}

// Prefetch implements graph.State.
func (s *State) Prefetch(c *graph.Change) error {
	f := prefetcher{tx: s.tx, stepsLeft: maxPrefetchSteps}
	f.change(s, c)
	return f.read()
}

// topSequences returns the sequences of the entries that count undos and redos apply to. An
// undo after a redo applies to the redone entry, and a redo after an undo to the undone one,
// so these add no entry.
func topSequences(stacks graph.Stacks, count Reversals) []graph.Sequence {
	var found []graph.Sequence
	for _, e := range stacks.Undoable[max(0, len(stacks.Undoable)-count.Undos):] {
		found = append(found, e.Sequence)
	}
	for _, e := range stacks.Redoable[max(0, len(stacks.Redoable)-count.Redos):] {
		found = append(found, e.Sequence)
	}
	return found
}

// readChanges stores changes in the states. A change that cannot be decoded is skipped:
// State.Change reads it again and returns the error.
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

// prefetcher collects the resources that undoing or redoing changes needs and that are not
// in memory.
type prefetcher struct {
	tx                      *Tx
	stepsLeft               int
	seen                    map[graphID]struct{}
	nodes, edges, adjacency postgres.IDList
}

func (f *prefetcher) change(s *State, c *graph.Change) {
	if f.stepsLeft -= len(c.Steps); f.stepsLeft < 0 {
		return
	}
	for i := range c.Steps {
		f.step(s, &c.Steps[i])
	}
}

func (f *prefetcher) step(s *State, step *graph.Step) {
	if n := step.Node; n != nil {
		if _, known := s.edgesLoaded[n.ID]; !known && step.Type != graph.TypeUpdateNode {
			s.edgesLoaded[n.ID] = false // until it is read, so that it is listed once
			f.adjacency.Add(s.workspace, []uuid.UUID{n.ID}, nil)
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

func (f *prefetcher) node(s *State, id uuid.UUID) {
	_, known := s.nodes[id]
	f.list(s, &f.nodes, id, known)
}

func (f *prefetcher) list(s *State, dst *postgres.IDList, id uuid.UUID, known bool) {
	key := graphID{s.workspace, id}
	if _, listed := f.seen[key]; known || listed {
		return
	}
	if f.seen == nil {
		f.seen = map[graphID]struct{}{}
	}
	f.seen[key] = struct{}{}
	dst.Add(s.workspace, []uuid.UUID{id}, nil)
}

// read reads the listed resources.
func (f *prefetcher) read() error {
	b := &pgx.Batch{}
	if len(f.nodes.IDs) > 0 {
		b.Queue(selectNodes, f.nodes.Workspaces, f.nodes.IDs).Query(f.tx.readNodes)
	}
	if len(f.edges.IDs) > 0 {
		b.Queue(selectEdges, f.edges.Workspaces, f.edges.IDs).Query(f.tx.readEdges)
	}
	if len(f.adjacency.IDs) > 0 {
		b.Queue(
			selectEdgesAt, f.adjacency.Workspaces, f.adjacency.IDs, f.tx.memoryEdgeLimit,
		).Query(f.tx.readEdgesAt(f.adjacency))
	}
	if b.Len() == 0 {
		return nil
	}
	if err := f.tx.conn.send(f.tx.ctx, b); err != nil {
		return fmt.Errorf("reading what may be undone: %w", err)
	}
	return nil
}
