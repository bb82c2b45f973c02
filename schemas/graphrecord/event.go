package graphrecord

import (
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// EventBytes is about how much of a change goes into one record of topic
// graph.events: a part ends with the step that brings it over.
const EventBytes = 512 << 10

// EncodeEvents makes the records of topic graph.events of an entry of the journal,
// without what only undo needs, and gives the request that caused it. A change beyond
// EventBytes has its steps in several records.
func EncodeEvents(workspace uuid.UUID, journal []byte) (parts [][]byte, requestID string, err error) {
	var change eventsv1.Change
	if err := proto.Unmarshal(journal, &change); err != nil {
		return nil, "", fmt.Errorf("decoding a change: %w", err)
	}
	steps := change.GetSteps()
	for _, step := range steps {
		strip(step)
	}
	portions := portionsOf(steps)
	for i, portion := range portions {
		change.Steps = portion
		part, err := proto.Marshal(&eventsv1.GraphEvent{
			WorkspaceId: workspace[:], Change: &change, Part: uint32(i), Parts: uint32(len(portions)),
		})
		if err != nil {
			return nil, "", fmt.Errorf("encoding an event: %w", err)
		}
		parts = append(parts, part)
	}
	return parts, change.GetRequestId(), nil
}

// portionsOf cuts steps so that each portion is about EventBytes at most. There is
// at least one.
func portionsOf(steps []*eventsv1.Step) [][]*eventsv1.Step {
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

// strip removes what is for undo alone.
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
