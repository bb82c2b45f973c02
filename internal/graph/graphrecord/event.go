package graphrecord

import (
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/graph"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

const (
	// EventBytes is the approximate size of a part of a change in one record of topic
	// graph.events: a part ends with the step at which it reaches this size.
	EventBytes = 512 << 10
	// MaxEventEdges is the maximum number of further ids of a cascade in one record.
	MaxEventEdges = 10_000
)

// FurtherEdges returns ids of a cascade that the journal does not list: those from index
// from to before index to, of the cascade of a node in the change with a sequence.
type FurtherEdges func(sequence int64, node uuid.UUID, from, to int64) ([]uuid.UUID, error)

// EncodeEvents encodes an entry of the journal as records of topic graph.events, without
// the fields that only undo requires. It calls put for each record, with the id of the
// request that caused the change. The steps of a change larger than EventBytes are in
// several records. The records after them have the ids of cascades that the journal does
// not list: each repeats the step, with the next ids.
func EncodeEvents(
	workspace uuid.UUID, journal []byte, further FurtherEdges, put func(part []byte, requestID string) error,
) error {
	var change eventsv1.Change
	if err := proto.Unmarshal(journal, &change); err != nil {
		return fmt.Errorf("decoding a change: %w", err)
	}
	steps := change.GetSteps()
	for _, step := range steps {
		strip(step)
	}
	portions := splitSteps(steps)
	e := &eventEncoder{workspace: workspace, change: &change, put: put, parts: len(portions) + furtherParts(steps)}
	for _, portion := range portions {
		if err := e.encode(portion...); err != nil {
			return err
		}
	}
	for _, step := range steps {
		if err := e.encodeFurther(step, further); err != nil {
			return err
		}
	}
	return nil
}

// eventEncoder encodes the parts of a change.
type eventEncoder struct {
	workspace   uuid.UUID
	change      *eventsv1.Change
	put         func(part []byte, requestID string) error
	part, parts int
}

func (e *eventEncoder) encode(steps ...*eventsv1.Step) error {
	e.change.Steps = steps
	part, err := proto.Marshal(&eventsv1.GraphEvent{
		WorkspaceId: e.workspace[:], Change: e.change, Part: uint32(e.part), Parts: uint32(e.parts),
	})
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	e.part++
	return e.put(part, e.change.GetRequestId())
}

// encodeFurther encodes the parts with the ids of a step's cascade that the journal does
// not list.
func (e *eventEncoder) encodeFurther(step *eventsv1.Step, further FurtherEdges) error {
	c := step.GetCascade()
	node, err := uuid.FromBytes(step.GetNode().GetId())
	if c == nil || unlisted(c) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("a cascade of change %d: %w", e.change.GetSequence(), errID)
	}
	for from := int64(len(c.GetEdgeIds())); from < c.GetCount(); from += MaxEventEdges {
		ids, err := further(e.change.GetSequence(), node, from, min(from+MaxEventEdges, c.GetCount()))
		if err != nil {
			return err
		}
		err = e.encode(&eventsv1.Step{Type: step.GetType(), After: step.GetAfter(), Cascade: &eventsv1.Cascade{
			Mark: c.GetMark(), Restored: c.GetRestored(), Count: c.GetCount(), EdgeIds: BytesOfAll(ids), First: from,
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// furtherParts returns the number of parts that encodeFurther encodes for all steps.
func furtherParts(steps []*eventsv1.Step) int {
	n := int64(0)
	for _, step := range steps {
		n += (unlisted(step.GetCascade()) + MaxEventEdges - 1) / MaxEventEdges
	}
	return int(n)
}

// unlisted returns the number of edges of a cascade that the journal does not list. It is
// 0 for a cascade of at most MaxListed edges, whatever the record lists.
func unlisted(c *eventsv1.Cascade) int64 {
	if c.GetCount() <= graph.MaxListed {
		return 0
	}
	return max(c.GetCount()-int64(len(c.GetEdgeIds())), 0)
}

// splitSteps splits steps into portions of approximately EventBytes. It returns at least
// one portion.
func splitSteps(steps []*eventsv1.Step) [][]*eventsv1.Step {
	var portions [][]*eventsv1.Step
	from, size := 0, 0
	for i, step := range steps {
		if size += proto.Size(step); size >= EventBytes {
			portions = append(portions, steps[from:i+1])
			from, size = i+1, 0
		}
	}
	if from < len(steps) || len(portions) == 0 {
		portions = append(portions, steps[from:])
	}
	return portions
}

// strip removes the fields that only undo requires.
func strip(step *eventsv1.Step) {
	step.Before = nil
	life := step.GetNode().GetLife()
	if e := step.GetEdge(); e != nil {
		e.Taken = nil
		life = e.GetLife()
	}
	if life != nil {
		life.CreatedBy, life.DeletedBy, life.Stamps, life.Floor = 0, 0, nil, 0
	}
}
