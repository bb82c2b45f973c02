package lexical

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// batch is which nodes the events touched.
type batch struct {
	c          *Consumer
	workspaces map[uuid.UUID]*touched
	order      []uuid.UUID // of the workspaces, as they came
	nodes      int
}

// touched is what the events of a workspace touched.
type touched struct {
	nodes     map[uuid.UUID]struct{}
	sequences []int64 // of changes all of whose events are read
}

func newBatch(c *Consumer) *batch {
	return &batch{c: c, workspaces: map[uuid.UUID]*touched{}}
}

// Add takes an event.
func (b *batch) Add(r *kgo.Record) error {
	var e eventsv1.GraphEvent
	if err := proto.Unmarshal(r.Value, &e); err != nil {
		return fmt.Errorf("decoding an event: %w", err)
	}
	workspace, err := uuid.FromBytes(e.GetWorkspaceId())
	if err != nil {
		return errors.New("an event of no workspace")
	}
	change := e.GetChange()
	if change.GetSequence() <= 0 {
		return errors.New("an event of no change")
	}
	ids := make([]uuid.UUID, 0, len(change.GetSteps()))
	for _, step := range change.GetSteps() {
		if n := step.GetNode(); n != nil {
			id, err := uuid.FromBytes(n.GetId())
			if err != nil {
				return fmt.Errorf("a node without an id in change %d", change.GetSequence())
			}
			ids = append(ids, id)
		}
	}
	t := b.workspaces[workspace]
	if t == nil {
		t = &touched{nodes: map[uuid.UUID]struct{}{}}
		b.workspaces[workspace] = t
		b.order = append(b.order, workspace)
	}
	before := len(t.nodes)
	for _, id := range ids {
		t.nodes[id] = struct{}{}
	}
	b.nodes += len(t.nodes) - before
	if b.c.parts.Take(workspace, change.GetSequence(), e.GetPart(), e.GetParts()) {
		t.sequences = append(t.sequences, change.GetSequence())
	}
	return nil
}

// Rows returns how many nodes were touched, and one more for each workspace: how far it
// is is a row, too.
func (b *batch) Rows() int { return b.nodes + len(b.order) }

// Prepare has nothing to do: what is read has to be read where it is written.
func (b *batch) Prepare(context.Context) error { return nil }

// Store makes the text lane agree with the touched nodes as they are now.
func (b *batch) Store(ctx context.Context) error {
	work := make([]textindex.LexicalWork, 0, len(b.order))
	for _, id := range b.order {
		t := b.workspaces[id]
		one := textindex.LexicalWork{Workspace: id, Nodes: make([]uuid.UUID, 0, len(t.nodes))}
		for node := range t.nodes {
			one.Nodes = append(one.Nodes, node)
		}
		one.Sequences = slices.Clone(t.sequences)
		slices.Sort(one.Sequences)
		work = append(work, one)
	}
	done, err := b.c.deps.Graph.ApplyLexical(ctx, work)
	b.c.metrics.done(done)
	if err != nil {
		return err
	}
	if done.Gaps > 0 {
		b.c.logger.Warn("changes of workspaces never came; they are read from the graph", "workspaces", done.Gaps)
		b.c.filler.notify()
	}
	return nil
}

// Release lets go of what was gathered.
func (b *batch) Release() { b.workspaces, b.order = nil, nil }
