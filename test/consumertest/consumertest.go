// Package consumertest has graphs for the tests of consumers: a log with its topics, and a running consumer of
// commands.
package consumertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// Group returns the group of the consumer of commands.
func Group(broker *kafkatest.Broker) string { return broker.Prefix + "commands-test" }

// OpenDatabase opens a migrated database, and closes it with the test.
func OpenDatabase(tb testing.TB, url string, maxConns int32) *stores.DB {
	tb.Helper()
	db, err := stores.Open(context.Background(), url, maxConns)
	require.NoError(tb, err)
	tb.Cleanup(db.Close)
	return db
}

// NewWorkspace creates a workspace of plan enterprise.
func NewWorkspace(tb testing.TB, db *stores.DB) uuid.UUID {
	tb.Helper()
	created, err := db.CreateWorkspace(context.Background(), access.Workspace{
		Name: "plant", Plan: "enterprise", Mode: "live",
	})
	require.NoError(tb, err)
	return created.ID
}

// OpenLog opens a client of the log, as a separate process would, and creates the topics.
func OpenLog(tb testing.TB, broker *kafkatest.Broker, db *stores.DB, commandPartitions int32) *kafka.Client {
	tb.Helper()
	var log *kafka.Client
	log, err := kafka.Open(context.Background(), kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), TopicPrefix: broker.Prefix, BufferedBytes: 64 << 20,
		CommandsGroup: Group(broker), ProduceTimeout: time.Minute, Log: testenv.Logger(),
		OnCommandsChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return commands.ResolveOffsets(ctx, log, db, testenv.Logger())
		},
	})
	require.NoError(tb, err)
	tb.Cleanup(log.Close)
	ctx, cancel := context.WithTimeout(context.Background(), testenv.WaitTimeout)
	defer cancel()
	require.NoError(tb, log.EnsureTopics(ctx, kafka.TopicSettings{
		Partitions: 1, CommandsPartitions: commandPartitions, Replication: -1, RetentionBytes: 1 << 30,
	}))
	return log
}

// RunCommands runs a consumer of commands until the test ends.
func RunCommands(tb testing.TB, broker *kafkatest.Broker, log *kafka.Client, db *stores.DB) {
	tb.Helper()
	cache, err := redis.Open(context.Background(), redis.Options{URL: testenv.Redis(tb)})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = cache.Close() })
	testenv.RunInBackground(tb, commands.New(commands.Deps{
		Log: log, Graph: db, Redis: cache, Logger: testenv.Logger(),
		Config: commands.Config{Group: Group(broker), FetchBytes: 8 << 20},
	}).Run)
}

// NewRequest returns a request of commands of an actor.
func NewRequest(workspace, actor uuid.UUID, mode graphrecord.Mode, payloads ...graph.Payload) *graphrecord.Request {
	r := &graphrecord.Request{
		Workspace: workspace, Mode: mode, ID: uuid.New(),
		Origin: graph.Origin{
			Actor: actor, Scopes: []string{"write:nodes", "write:edges"}, AcceptedAt: time.Now(), RequestID: "req_1",
		},
	}
	for _, p := range payloads {
		r.Actions = append(r.Actions, graph.Action{Payload: p})
		if mode == graphrecord.Separate {
			r.CommandIDs = append(r.CommandIDs, uuid.New())
		}
	}
	return r
}

// Submit writes a request to the log. It does not wait until its commands are decided; see AwaitOutcome.
func Submit(tb testing.TB, log *kafka.Client, r *graphrecord.Request) graphstore.CommandRef {
	tb.Helper()
	value, err := graphrecord.EncodeRequest(r)
	require.NoError(tb, err)
	require.NoError(tb, log.ProduceCommand(context.Background(), kafka.Record{
		Workspace: r.Workspace, Value: value, RequestID: r.RequestID,
	}))
	return graphstore.CommandRef{Workspace: r.Workspace, ID: r.ID}
}

// AwaitOutcome waits until the commands of a request are decided.
func AwaitOutcome(tb testing.TB, db *stores.DB, ref graphstore.CommandRef) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		found, err := db.CommandOutcomes(context.Background(), []graphstore.CommandRef{ref})
		require.NoError(tb, err)
		return found[ref] != nil
	}, testenv.WaitTimeout, 5*time.Millisecond, "the commands are decided")
}

// Do submits commands of an actor one by one, and waits until all are decided.
func Do(tb testing.TB, log *kafka.Client, db *stores.DB, workspace, actor uuid.UUID, payloads ...graph.Payload) {
	tb.Helper()
	var last graphstore.CommandRef
	for _, p := range payloads {
		last = Submit(tb, log, NewRequest(workspace, actor, graphrecord.Single, p))
	}
	AwaitOutcome(tb, db, last)
}
