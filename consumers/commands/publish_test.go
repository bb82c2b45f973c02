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
	"github.com/livegraph/livegraph/test/testenv"
)

// inOrder holds that each workspace's changes are on the topic without a gap: a
// repeat may be there, but nothing before what precedes it.
func inOrder(t *testing.T, events []*eventsv1.GraphEvent) map[uuid.UUID]int64 {
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
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		workspaces := []uuid.UUID{w.workspace, w.newWorkspace(), w.newWorkspace()}
		made := 0
		for range 3 {
			consumer := w.consume()
			for i := range 30 {
				w.workspace = workspaces[i%3]
				w.produce(w.request(graphrecord.Single, node("n")))
				made++
			}
			w.eventually("all are decided", func() bool { return w.number(`SELECT count(*) FROM journal`) == made })
			consumer.stop() // perhaps before all are published
		}
		w.consume()
		w.eventually("all are published", func() bool {
			return w.number(`SELECT count(*) FROM graph_published WHERE sequence = 30`) == 3
		})
		for _, sequence := range inOrder(t, w.events(made)) {
			require.Equal(t, int64(30), sequence)
		}
	})
}

func TestChangesThatAnotherProcessDecidedArePublished(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		consumer := w.consume()
		w.do(node("a"))
		w.eventually("it is published", func() bool {
			return w.number(`SELECT COALESCE(max(sequence), 0) FROM graph_published`) == 1
		})
		consumer.stop()
		_, err := w.look.Exec(context.Background(), `UPDATE graph_published SET sequence = 0`)
		require.NoError(t, err)
		w.consume()
		w.eventually("it is published again", func() bool {
			return w.number(`SELECT COALESCE(max(sequence), 0) FROM graph_published`) == 1
		})
		require.Len(t, w.events(2), 2)
	})
}

func TestALargeChangeIsPublishedInParts(t *testing.T) {
	testenv.EachKafka(t, func(t *testing.T, broker *testenv.Broker) {
		w := newWorld(t, broker)
		w.consume()
		description := strings.Repeat("x", 4<<10)
		payloads := make([]graph.Payload, 400)
		for i := range payloads {
			made := node("n")
			made.Description = &description
			payloads[i] = made
		}
		w.produce(w.request(graphrecord.Atomic, payloads...))
		first := w.events(1)[0]
		parts := int(first.GetParts())
		require.Greater(t, parts, 3)
		steps := 0
		for i, e := range w.events(parts) {
			require.LessOrEqual(t, proto.Size(e), graphrecord.EventBytes+64<<10)
			require.Equal(t, uint32(i), e.GetPart())
			require.Equal(t, int64(1), e.GetChange().GetSequence())
			steps += len(e.GetChange().GetSteps())
		}
		require.Equal(t, 400, steps)
	})
}

// TestChangesOfManyWorkspacesArePublishedTogether has as many statements and batches for
// two hundred workspaces as for a few, and one workspace that can never be published.
func TestChangesOfManyWorkspacesArePublishedTogether(t *testing.T) {
	const workspaces = 200
	w := newWorld(t, testenv.NewKFake(t))
	first := w.workspace
	consumer := w.consume()
	for range workspaces {
		w.workspace = w.newWorkspace()
		for range 2 {
			w.produce(w.request(graphrecord.Single, node("n")))
		}
	}
	w.workspace = first
	w.do(node("n"))
	published := func() int { return w.number(`SELECT COALESCE(sum(sequence), 0) FROM graph_published`) }
	w.eventually("all are published", func() bool { return published() == 2*workspaces+1 })
	consumer.stop()
	_, err := w.look.Exec(t.Context(), `UPDATE graph_published SET sequence = 0`)
	require.NoError(t, err)
	_, err = w.look.Exec(t.Context(), `UPDATE journal SET change = 'x' WHERE workspace_id = $1`, first)
	require.NoError(t, err)

	measured := prometheus.NewRegistry()
	again := commands.New(commands.Deps{
		Log: w.log, Graph: w.graph, Redis: w.redis, Config: w.config, Logger: w.logger, Metrics: measured,
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- again.Run(ctx) }()
	w.eventually("all others are published again", func() bool { return published() == 2*workspaces })
	stop()
	require.NoError(t, <-done)
	require.Less(t, portions(t, measured), uint64(workspaces/4))
	inOrder(t, w.events(4*workspaces+1))
}

// portions is how many portions were published.
func portions(t *testing.T, measured *prometheus.Registry) uint64 {
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
