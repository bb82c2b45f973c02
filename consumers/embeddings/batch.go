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

// event is what is to be known of a change.
type event struct {
	workspace uuid.UUID
	sequence  int64
	part      uint32 // of the change, from 0
	parts     uint32
	complete  bool // the change's last part, and all before it were read
	nodes     []uuid.UUID
}

// last reports whether it is the last part of its change.
func (e *event) last() bool { return e.part+1 >= e.parts }

func decode(value []byte) (e event, err error) {
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

// batch gathers the nodes that events tell of.
type batch struct {
	c      *Consumer
	events []event
	rows   int
	// unsure are nodes that were being written when it failed: what Milvus has of them
	// is not known, whatever is noted.
	unsure map[indexedRef]bool
}

// Add reads an event.
func (b *batch) Add(r *kgo.Record) error {
	e, err := decode(r.Value)
	if err != nil {
		return err
	}
	e.complete = b.c.parts.Take(e.workspace, e.sequence, e.part, e.parts)
	b.events = append(b.events, e)
	b.rows += max(len(e.nodes), 1)
	return nil
}

// Rows returns the nodes that are told of, with repetitions.
func (b *batch) Rows() int { return b.rows }

// Prepare has nothing to do: what is written is read when it is.
func (b *batch) Prepare(context.Context) error { return nil }

// Store brings the indexes up to date. An index that Milvus does not have is left to
// the keeper, who looks up in Postgres what it misses; so is everything while there is
// none.
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
			b.c.keeper.look()
			continue
		}
		if err != nil {
			b.c.metrics.failures.Inc()
			return err
		}
	}
	return nil
}

// storeIn brings one index up to date.
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
	work := task{index: index, unsure: b.unsure, progress: map[uuid.UUID]int64{}}
	missed := map[uuid.UUID]int64{}
	for id, list := range changes {
		at, known := progress[id]
		if !known {
			if index.State == textindex.IndexBuilding {
				continue // its nodes are not read yet, and will be as they are then
			}
			at.Built = true
		}
		to, gap := reached(at.Sequence, list)
		switch {
		case !at.Built:
		case gap:
			missed[id] = at.Sequence
		default:
			work.progress[id] = to
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
	for id, from := range missed {
		b.c.logger.Info("events are missing; what changed is looked up", "workspace", id, "after", from)
		if err := b.c.indexer.catchUp(ctx, index, id, from); err != nil {
			return err
		}
	}
	return nil
}

// byWorkspace returns the events of each workspace by their sequences.
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

// reached returns up to which change everything is known after some events, if it was
// up to one before; gap: some in between are missing, or parts of one.
func reached(at int64, events []event) (to int64, gap bool) {
	for _, e := range events {
		switch {
		case e.sequence <= at:
		case e.sequence > at+1, e.last() && !e.complete:
			return at, true
		case e.complete:
			at++
		}
	}
	return at, false
}

// Release lets go of the events.
func (b *batch) Release() { b.events = nil }
