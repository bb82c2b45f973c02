package embeddings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// event is a decoded part of a change.
type event struct {
	workspace uuid.UUID
	sequence  int64
	part      uint32 // of the change, from 0
	parts     uint32
	complete  bool // this is the last part, and all parts before it were read
	nodes     []uuid.UUID
}

// last reports whether e is the last part of its change.
func (e *event) last() bool { return e.part+1 >= e.parts }

func decodeEvent(value []byte) (e event, err error) {
	var record eventsv1.GraphEvent
	if err := proto.Unmarshal(value, &record); err != nil {
		return e, fmt.Errorf("decoding an event: %w", err)
	}
	if e.workspace, err = uuid.FromBytes(record.GetWorkspaceId()); err != nil {
		return e, fmt.Errorf("decoding an event's workspace: %w", err)
	}
	e.sequence = record.GetChange().GetSequence()
	if e.sequence <= 0 {
		return e, errors.New("an event without a sequence")
	}
	e.part, e.parts = record.GetPart(), record.GetParts()
	for _, step := range record.GetChange().GetSteps() {
		if step.GetNode() == nil {
			continue
		}
		id, err := uuid.FromBytes(step.GetNode().GetId())
		if err != nil {
			return e, fmt.Errorf("decoding an event's node: %w", err)
		}
		e.nodes = append(e.nodes, id)
	}
	return e, nil
}

// indexedRef is a node in an index.
type indexedRef struct {
	index uuid.UUID
	textindex.NodeRef
}

// batch collects the nodes that events refer to.
type batch struct {
	c      *Consumer
	events []event
	rows   int
	// rewrite contains nodes whose write failed. Their vectors in Milvus are unknown, so they
	// are written again whatever Postgres has recorded.
	rewrite map[indexedRef]bool
}

// Add decodes an event and adds it.
func (b *batch) Add(r *kgo.Record) error {
	e, err := decodeEvent(r.Value)
	if err != nil {
		return err
	}
	e.complete = b.c.parts.MarkRead(e.workspace, e.sequence, e.part, e.parts)
	b.events = append(b.events, e)
	b.rows += max(len(e.nodes), 1)
	return nil
}

// Rows returns the number of nodes that the events refer to, including repetitions.
func (b *batch) Rows() int { return b.rows }

// Prepare does nothing: Store reads the current nodes.
func (b *batch) Prepare(context.Context) error { return nil }

// Store updates the indexes. It skips an index whose collection Milvus does not have: the index
// manager then reads the missing changes from Postgres, as it does while there is no index.
func (b *batch) Store(ctx context.Context) error {
	open, err := b.c.deps.Graph.OpenIndexes(ctx)
	if err != nil {
		return err
	}
	for _, index := range open {
		if !index.Prepared {
			continue
		}
		err := b.storeIn(ctx, index)
		if errors.Is(err, milvus.ErrNoCollection) {
			b.c.manager.wake()
			continue
		}
		if err != nil {
			b.c.metrics.failures.Inc()
			return err
		}
	}
	return nil
}

// storeIn updates one index.
func (b *batch) storeIn(ctx context.Context, index textindex.SearchIndex) error {
	changes := b.byWorkspace()
	var workspaces []uuid.UUID
	for id := range changes {
		workspaces = append(workspaces, id)
	}
	progress, err := b.c.deps.Graph.IndexProgress(ctx, index.ID, workspaces)
	if err != nil {
		return err
	}
	work := task{index: index, unsure: b.rewrite, progress: map[uuid.UUID]int64{}}
	gaps := map[uuid.UUID]int64{}
	for id, list := range changes {
		current, known := progress[id]
		if !known {
			if index.State == textindex.IndexBuilding {
				continue // the build has not reached the workspace and will read its nodes later
			}
			current.Built = true
		}
		reached, gap := advanceProgress(current.Sequence, list)
		switch {
		case !current.Built:
		case gap:
			gaps[id] = current.Sequence
		default:
			work.progress[id] = reached
		}
		for _, e := range list {
			for _, node := range e.nodes {
				work.refs = append(work.refs, textindex.NodeRef{Workspace: id, Node: node})
			}
		}
	}
	if err := b.c.indexer.write(ctx, work); err != nil {
		return err
	}
	for id, from := range gaps {
		b.c.logger.Info("events are missing; what changed is looked up", "workspace", id, "after", from)
		if err := b.c.indexer.catchUp(ctx, index, id, from); err != nil {
			return err
		}
	}
	return nil
}

// byWorkspace returns the events of each workspace, sorted by sequence.
func (b *batch) byWorkspace() map[uuid.UUID][]event {
	all := map[uuid.UUID][]event{}
	for _, e := range b.events {
		all[e.workspace] = append(all[e.workspace], e)
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b event) int { return int(min(max(a.sequence-b.sequence, -1), 1)) })
	}
	return all
}

// advanceProgress returns the sequence up to which all changes are known after the events, given
// the sequence before them. gap means that a change, or a part of one, is missing.
func advanceProgress(sequence int64, events []event) (reached int64, gap bool) {
	for _, e := range events {
		switch {
		case e.sequence <= sequence:
		case e.sequence > sequence+1, e.last() && !e.complete:
			return sequence, true
		case e.complete:
			sequence++
		}
	}
	return sequence, false
}

// Full returns false: only Config limits the size.
func (*batch) Full() bool { return false }

// Release drops the references to the events.
func (b *batch) Release() { b.events = nil }
