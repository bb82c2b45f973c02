package hooks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/hooks"
)

// behind returns the groups of the workspace.
func (f *fixture) behind() (groups []hooks.Behind) {
	f.Helper()
	all, err := f.db.Behind(f.Context())
	require.NoError(f, err)
	for _, b := range all {
		if b.Workspace == f.workspace {
			groups = append(groups, b)
		}
	}
	return groups
}

// advance queues events of nodes for a group, and returns how many webhooks moved.
func (f *fixture) advance(b *hooks.Behind, next hooks.Position, events int) int {
	f.Helper()
	list := make([]hooks.Event, events)
	for i := range list {
		list[i] = event(hooks.NodeCreated)
	}
	queued, moved, err := f.db.Advance(f.Context(), b, list, next)
	require.NoError(f, err)
	require.Zero(f, queued.Dropped)
	return moved
}

func TestAWebhookMovesOnceFromEachPosition(t *testing.T) {
	f := newFixture(t)
	head := func(sequence int64) {
		f.exec(`INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, $2)
			ON CONFLICT (workspace_id) DO UPDATE SET sequence = $2`, f.workspace, sequence)
	}
	head(5)
	a, b := f.create("a", []string{hooks.NodeCreated}, hooks.Filters{}), f.create("b", graphEventsOnly(), hooks.Filters{})
	f.create("alerts", []string{hooks.AlertFiring}, hooks.Filters{})
	require.Empty(t, f.behind(), "they follow from their creation on")
	head(9)
	groups := f.behind()
	require.Len(t, groups, 1)
	require.EqualValues(t, 9, groups[0].Head)
	require.Equal(t, hooks.Position{Sequence: 5}, groups[0].Position)
	require.ElementsMatch(t, []uuid.UUID{a.ID, b.ID}, groups[0].Webhooks)
	require.Subset(t, groups[0].Types, graphEventsOnly())

	require.Equal(t, 2, f.advance(&groups[0], hooks.Position{Sequence: 6, Events: 3}, 2))
	require.Zero(t, f.advance(&groups[0], hooks.Position{Sequence: 7}, 2), "they are not there anymore")
	require.Len(t, f.eventTypes(a.ID), 2)

	// The queue of a webhook has room for one more event.
	f.exec(`INSERT INTO webhook_deliveries (id, webhook_id, workspace_id, event_id, event_type, payload)
		SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), 'x', '' FROM generate_series(1, $3)`,
		a.ID, f.workspace, hooks.MaxPendingChanges-3)
	groups[0].Position = hooks.Position{Sequence: 6, Events: 3}
	require.Equal(t, 1, f.advance(&groups[0], hooks.Position{Sequence: 7}, 2))
	require.Len(t, f.eventTypes(b.ID), 4)
	groups = f.behind()
	require.Len(t, groups, 1)
	require.Equal(t, []uuid.UUID{b.ID}, groups[0].Webhooks, "the other one waits for room")
	require.Equal(t, 1, f.advance(&groups[0], hooks.Position{Sequence: 9}, 0))
	require.Empty(t, f.behind())
	f.exec(`UPDATE webhook_deliveries SET state = 'delivered', finished_at = now() WHERE webhook_id = $1`, a.ID)
	require.Equal(t, hooks.Position{Sequence: 6, Events: 3}, f.behind()[0].Position)
}

func graphEventsOnly() []string {
	return slices.DeleteFunc(hooks.EventTypes(), func(event string) bool {
		return !strings.HasPrefix(event, "node.") && !strings.HasPrefix(event, "edge.")
	})
}
