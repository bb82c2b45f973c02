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

// batch collects the nodes that events touched.
type batch struct {
	c          *Consumer
	workspaces map[uuid.UUID]*workspaceChanges
	order      []uuid.UUID // workspaces in order of their first event
	nodes      int
}

// workspaceChanges contains the touched nodes and complete changes of a workspace.
type workspaceChanges struct {
	nodes     map[uuid.UUID]struct{}
	sequences []int64 // changes whose events are all read
}

func newBatch(c *Consumer) *batch {
	return &batch{c: c, workspaces: map[uuid.UUID]*workspaceChanges{}}
}

// Add decodes an event and adds it.
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
		t = &workspaceChanges{nodes: map[uuid.UUID]struct{}{}}
		b.workspaces[workspace] = t
		b.order = append(b.order, workspace)
	}
	before := len(t.nodes)
	for _, id := range ids {
		t.nodes[id] = struct{}{}
	}
	b.nodes += len(t.nodes) - before
	if b.c.parts.MarkRead(workspace, change.GetSequence(), e.GetPart(), e.GetParts()) {
		t.sequences = append(t.sequences, change.GetSequence())
	}
	return nil
}

// Rows returns the number of touched nodes plus the number of workspaces, because the progress of
// a workspace is a row, too.
func (b *batch) Rows() int { return b.nodes + len(b.order) }

// Prepare does nothing: nodes must be read in the transaction that writes.
func (b *batch) Prepare(context.Context) error { return nil }

// Store updates the text index with the current state of the touched nodes.
func (b *batch) Store(ctx context.Context) error {
	work := make([]textindex.LexicalWork, 0, len(b.order))
	for _, id := range b.order {
		t := b.workspaces[id]
		item := textindex.LexicalWork{Workspace: id, Nodes: make([]uuid.UUID, 0, len(t.nodes))}
		for node := range t.nodes {
			item.Nodes = append(item.Nodes, node)
		}
		item.Sequences = slices.Clone(t.sequences)
		slices.Sort(item.Sequences)
		work = append(work, item)
	}
	done, err := b.c.deps.Graph.ApplyLexical(ctx, work)
	b.c.metrics.recordDone(done)
	if err != nil {
		return err
	}
	if done.Gaps > 0 {
		b.c.logger.Warn("changes of workspaces never came; they are read from the graph", "workspaces", done.Gaps)
		b.c.filler.notify()
	}
	return nil
}

// Full returns false: only Config limits the size.
func (*batch) Full() bool { return false }

// Release drops the references to the collected nodes.
func (b *batch) Release() { b.workspaces, b.order = nil, nil }
