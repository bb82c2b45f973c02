package webhooks

import (
	"context"
	"log/slog"
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

// cascades has the ids of the edges of long cascades, of which none exists anymore.
type cascades map[uuid.UUID][]uuid.UUID

func (cascades) EdgeEnds(context.Context, uuid.UUID, []uuid.UUID) ([]graphread.EdgeEnds, error) {
	return nil, nil
}

func (c cascades) CascadeEdges(
	_ context.Context, _ uuid.UUID, _ int64, node uuid.UUID, from, to int64,
) ([]uuid.UUID, error) {
	return c[node][from:to], nil
}

// deletion returns the step of a node that was deleted with edges, of which at most 1,000 are listed.
func (c cascades) deletion(edges int) *eventsv1.Step {
	node := uuid.New()
	cascade := &eventsv1.Cascade{Count: int64(edges)}
	for i := range edges {
		id := uuid.New()
		c[node] = append(c[node], id)
		if i < 1000 {
			cascade.EdgeIds = append(cascade.EdgeIds, id[:])
		}
	}
	return &eventsv1.Step{
		Type: "DELETE_NODE", Cascade: cascade,
		After: &eventsv1.Step_Node{Node: &eventsv1.Node{Id: node[:], Life: &eventsv1.Lifecycle{Deleted: true}}},
	}
}

func eventIDsOf(events []hooks.Event) (ids []uuid.UUID) {
	for i := range events {
		ids = append(ids, events[i].ID)
	}
	return ids
}

// The events of a change are the same in whatever pieces they are read.
func TestTheEventsOfAChangeAreReadInPieces(t *testing.T) {
	store := cascades{}
	record := &eventsv1.Change{AtUs: 1, Steps: []*eventsv1.Step{
		store.deletion(0), store.deletion(3), store.deletion(2500), store.deletion(1), store.deletion(1000),
	}}
	for name, subscribed := range map[string][]string{
		"all": hooks.EventTypes(), "nodes": {hooks.NodeDeleted}, "edges": {hooks.EdgeDeleted}, "others": {hooks.NodeCreated},
	} {
		c := change{workspace: uuid.New(), sequence: 7, record: record, subscribed: subscribed, logger: slog.Default()}
		var all []hooks.Event
		place, err := c.appendEvents(t.Context(), store, &all, 10_000, 0)
		require.NoError(t, err)
		require.EqualValues(t, -1, place)
		require.Len(t, all, map[string]int{"all": 5 + 3504, "nodes": 5, "edges": 3504}[name])
		distinct := map[uuid.UUID]bool{}
		for _, id := range eventIDsOf(all) {
			distinct[id] = true
		}
		require.Len(t, distinct, len(all))
		for _, limit := range []int{1, 7, 999, 1000, 1001, 5000} {
			var pieces []hooks.Event
			for place := int64(0); place >= 0; {
				var piece []hooks.Event
				place, err = c.appendEvents(t.Context(), store, &piece, limit, place)
				require.NoError(t, err)
				require.LessOrEqual(t, len(piece), limit)
				pieces = append(pieces, piece...)
			}
			require.Equal(t, eventIDsOf(all), eventIDsOf(pieces), "%s, %d at a time", name, limit)
		}
	}
}
