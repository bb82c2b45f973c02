package commands_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// requireInOrder requires that the changes of each workspace have no gap and returns its last
// sequence. Changes may be repeated, but none comes before one that precedes it.
func requireInOrder(t *testing.T, events []*eventsv1.GraphEvent) map[uuid.UUID]int64 {
	t.Helper()
	last := map[uuid.UUID]int64{}
	for _, e := range events {
		workspace := uuid.UUID(e.GetWorkspaceId())
		sequence := e.GetChange().GetSequence()
		require.LessOrEqual(t, sequence, last[workspace]+1, "a gap")
		last[workspace] = max(last[workspace], sequence)
	}
	return last
}

func TestChangesArePublishedInOrderAcrossRestarts(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		workspaces := []uuid.UUID{f.workspace, f.newWorkspace(), f.newWorkspace()}
		made := 0
		for range 3 {
			consumer := f.consume()
			for i := range 30 {
				f.workspace = workspaces[i%3]
				f.produce(f.request(graphrecord.Single, node("n")))
				made++
			}
			f.eventually("all are decided", func() bool { return f.queryInt(`SELECT count(*) FROM journal`) == made })
			consumer.stop() // possibly before all are published
		}
		f.consume()
		f.eventually("all are published", func() bool {
			return f.queryInt(`SELECT count(*) FROM graph_published WHERE sequence = 30`) == 3
		})
		for _, sequence := range requireInOrder(t, f.readEvents(made)) {
			require.Equal(t, int64(30), sequence)
		}
	})
}

func TestChangesThatAnotherProcessDecidedArePublished(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		consumer := f.consume()
		f.do(node("a"))
		f.eventually("it is published", func() bool {
			return f.queryInt(`SELECT COALESCE(max(sequence), 0) FROM graph_published`) == 1
		})
		consumer.stop()
		_, err := f.conn.Exec(context.Background(), `UPDATE graph_published SET sequence = 0`)
		require.NoError(t, err)
		f.consume()
		f.eventually("it is published again", func() bool {
			return f.queryInt(`SELECT COALESCE(max(sequence), 0) FROM graph_published`) == 1
		})
		require.Len(t, f.readEvents(2), 2)
	})
}

func TestALargeChangeIsPublishedInParts(t *testing.T) {
	kafkatest.EachKafka(t, func(t *testing.T, broker *kafkatest.Broker) {
		f := newFixture(t, broker)
		f.consume()
		description := strings.Repeat("x", 4<<10)
		payloads := make([]graph.Payload, 400)
		for i := range payloads {
			made := node("n")
			made.Description = &description
			payloads[i] = made
		}
		f.produce(f.request(graphrecord.Atomic, payloads...))
		first := f.readEvents(1)[0]
		parts := int(first.GetParts())
		require.Greater(t, parts, 3)
		steps := 0
		for i, e := range f.readEvents(parts) {
			require.LessOrEqual(t, proto.Size(e), graphrecord.EventBytes+64<<10)
			require.Equal(t, uint32(i), e.GetPart())
			require.Equal(t, int64(1), e.GetChange().GetSequence())
			steps += len(e.GetChange().GetSteps())
		}
		require.Equal(t, 400, steps)
	})
}

// TestChangesOfManyWorkspacesArePublishedTogether publishes the changes of 200 workspaces, one
// of which always fails, and requires that far fewer portions than workspaces are published.
func TestChangesOfManyWorkspacesArePublishedTogether(t *testing.T) {
	const workspaces = 200
	f := newFixture(t, kafkatest.NewKFake(t))
	first := f.workspace
	consumer := f.consume()
	for range workspaces {
		f.workspace = f.newWorkspace()
		for range 2 {
			f.produce(f.request(graphrecord.Single, node("n")))
		}
	}
	f.workspace = first
	f.do(node("n"))
	published := func() int { return f.queryInt(`SELECT COALESCE(sum(sequence), 0) FROM graph_published`) }
	f.eventually("all are published", func() bool { return published() == 2*workspaces+1 })
	consumer.stop()
	_, err := f.conn.Exec(t.Context(), `UPDATE graph_published SET sequence = 0`)
	require.NoError(t, err)
	_, err = f.conn.Exec(t.Context(), `UPDATE journal SET change = 'x' WHERE workspace_id = $1`, first)
	require.NoError(t, err)

	measured := prometheus.NewRegistry()
	again := commands.New(commands.Deps{
		Log: f.log, Graph: f.graph, Redis: f.redis, Config: f.config, Logger: f.logger, Metrics: measured,
	})
	stop := testenv.RunInBackground(t, again.Run)
	f.eventually("all others are published again", func() bool { return published() == 2*workspaces })
	stop()
	require.Less(t, publishedPortions(t, measured), uint64(workspaces/4))
	requireInOrder(t, f.readEvents(4*workspaces+1))
}

// publishedPortions returns the number of published portions.
func publishedPortions(t *testing.T, measured *prometheus.Registry) uint64 {
	t.Helper()
	families, err := measured.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "livegraph_graph_events_publish_duration_seconds" {
			return f.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	require.FailNow(t, "not measured")
	return 0
}
