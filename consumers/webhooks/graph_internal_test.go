package webhooks

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

func TestTheTypeOfAnEventFollowsFromTheState(t *testing.T) {
	for _, c := range []struct {
		step    string
		deleted bool
		want    string
	}{
		{"CREATE_NODE", false, hooks.NodeCreated},
		{"CREATE_NODE", true, hooks.NodeDeleted}, // undone
		{"UPDATE_NODE", false, hooks.NodeUpdated},
		{"UPDATE_NODE", true, ""},
		{"DELETE_NODE", true, hooks.NodeDeleted},
		{"DELETE_NODE", false, hooks.NodeCreated}, // undone
	} {
		require.Equal(t, c.want, eventType("node", c.step, c.deleted), "%v", c)
	}
}

// noEdges is a graph whose edges no longer exist.
type noEdges struct{}

func (noEdges) EdgeEnds(context.Context, uuid.UUID, []uuid.UUID) ([]graphread.EdgeEnds, error) {
	return nil, nil
}

// A large cascade has several records, each with the step of the node.
func TestALargeCascadeIsOneEventOfTheNode(t *testing.T) {
	id := func() []byte { u := uuid.New(); return u[:] }
	node := &eventsv1.Step_Node{Node: &eventsv1.Node{Id: id(), Life: &eventsv1.Lifecycle{Deleted: true}}}
	record := &eventsv1.Change{Sequence: 7, AtUs: 1}
	first := &eventsv1.Step{Type: "DELETE_NODE", After: node, Cascade: &eventsv1.Cascade{EdgeIds: [][]byte{id()}}}
	next := &eventsv1.Step{Type: "DELETE_NODE", After: node, Cascade: &eventsv1.Cascade{
		First: 1, EdgeIds: [][]byte{id(), id()},
	}}
	ids := map[uuid.UUID]bool{}
	for part, step := range []*eventsv1.Step{first, next, first} { // the last one is read again
		c := change{part: uint32(part % 2), record: record, subscribed: hooks.EventTypes()}
		event, ok, err := c.stepEvent(0, step)
		require.NoError(t, err)
		require.Equal(t, step == first, ok)
		if ok {
			ids[event.ID] = true
		}
		edges, err := c.cascadeEvents(t.Context(), noEdges{}, step)
		require.NoError(t, err)
		require.Len(t, edges, len(step.GetCascade().GetEdgeIds()))
		for i := range edges {
			ids[edges[i].ID] = true
		}
	}
	require.Len(t, ids, 4)
}
