package commands_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/consumertest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const partitions = 4

// fixture contains a log, or topics with a prefix of the test on a shared log, a separate
// Postgres and Redis, and a workspace.
type fixture struct {
	tb        testing.TB
	broker    *kafkatest.Broker
	log       *kafka.Client
	graph     *stores.DB
	redis     *redis.DB
	conn      *pgx.Conn // for queries of the tests
	url       string    // of Postgres
	redisURL  string
	replies   *redis.Replies
	config    commands.Config
	logger    *slog.Logger
	workspace uuid.UUID
	actor     uuid.UUID
}

func newFixture(tb testing.TB, broker *kafkatest.Broker) *fixture {
	tb.Helper()
	return newFixtureWith(tb, broker, redis.Options{URL: testenv.Redis(tb)})
}

func newFixtureWith(tb testing.TB, broker *kafkatest.Broker, o redis.Options) *fixture {
	tb.Helper()
	ctx := context.Background()
	f := &fixture{tb: tb, broker: broker, logger: testenv.Logger(), actor: uuid.New()}
	f.config = commands.Config{Group: consumertest.Group(broker), FetchBytes: 8 << 20}
	var err error
	f.url, f.redisURL = pgtest.Migrated(tb), o.URL
	f.graph = consumertest.OpenDatabase(tb, f.url, 8)
	f.conn, err = pgx.Connect(ctx, f.url)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.conn.Close(ctx) })
	f.redis, err = redis.Open(ctx, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.redis.Close() })
	f.log = consumertest.OpenLog(tb, broker, f.graph, partitions)
	f.workspace = f.newWorkspace()
	f.replies = f.redis.NewReplies(f.logger)
	listening, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- f.replies.Run(listening) }()
	tb.Cleanup(func() {
		stop()
		require.ErrorIs(tb, <-done, context.Canceled)
	})
	f.eventually("the subscription to replies is active", f.replies.Connected)
	return f
}

func (f *fixture) newWorkspace() uuid.UUID {
	f.tb.Helper()
	return consumertest.NewWorkspace(f.tb, f.graph)
}

func (f *fixture) eventually(what string, condition func() bool) {
	f.tb.Helper()
	require.Eventually(f.tb, condition, testenv.WaitTimeout, 5*time.Millisecond, what)
}

// running is a running consumer.
type running struct {
	*commands.Consumer
	stop func()
}

// consume runs a consumer until stop or the end of the test.
func (f *fixture) consume() *running { return f.consumeWith(f.log, f.redis) }

func (f *fixture) consumeWith(log *kafka.Client, db *redis.DB) *running {
	f.tb.Helper()
	c := commands.New(commands.Deps{Log: log, Graph: f.graph, Redis: db, Config: f.config, Logger: f.logger})
	return &running{Consumer: c, stop: testenv.RunInBackground(f.tb, c.Run)}
}

func (f *fixture) request(mode graphrecord.Mode, actions ...graph.Payload) *graphrecord.Request {
	return consumertest.NewRequest(f.workspace, f.actor, mode, actions...)
}

func (f *fixture) record(r *graphrecord.Request) kafka.Record {
	f.tb.Helper()
	value, err := graphrecord.EncodeRequest(r)
	require.NoError(f.tb, err)
	return kafka.Record{Workspace: r.Workspace, Value: value, RequestID: r.RequestID, ReplyTo: f.replies.Address()}
}

// produce sends a request, and sends it again while the log is not available, as clients do: on a busy machine a broker
// may not answer for a second. A request that is in the log twice is decided once.
func (f *fixture) produce(r *graphrecord.Request) {
	f.tb.Helper()
	record := f.record(r)
	err := f.log.ProduceCommand(context.Background(), record)
	if fault.Is(err, fault.Unavailable) {
		f.eventually("the log is available again", func() bool {
			err = f.log.ProduceCommand(context.Background(), record)
			return !fault.Is(err, fault.Unavailable)
		})
	}
	require.NoError(f.tb, err)
}

// submit produces a request and returns the outcome in the reply.
func (f *fixture) submit(r *graphrecord.Request) *eventsv1.Outcome {
	f.tb.Helper()
	replies, stop := f.replies.Await(r.ID)
	defer stop()
	f.produce(r)
	select {
	case encoded := <-replies:
		if len(encoded) == 0 { // the outcome is too large for a reply
			return f.stored(r)
		}
		outcome, err := graphrecord.DecodeOutcome(encoded)
		require.NoError(f.tb, err)
		require.Equal(f.tb, r.ID[:], outcome.GetId())
		return outcome
	case <-time.After(testenv.WaitTimeout):
		require.FailNow(f.tb, "no reply")
		return nil
	}
}

// do submits a single command and returns its result.
func (f *fixture) do(p graph.Payload) *eventsv1.Result {
	f.tb.Helper()
	outcome := f.submit(f.request(graphrecord.Single, p))
	require.Nil(f.tb, outcome.GetFailure())
	require.Len(f.tb, outcome.GetResults(), 1)
	return outcome.GetResults()[0]
}

// stored returns the outcome in Postgres, or nil if there is none.
func (f *fixture) stored(r *graphrecord.Request) *eventsv1.Outcome {
	f.tb.Helper()
	ref := graphstore.CommandRef{Workspace: r.Workspace, ID: r.ID}
	found, err := f.graph.CommandOutcomes(context.Background(), []graphstore.CommandRef{ref})
	require.NoError(f.tb, err)
	if found[ref] == nil {
		return nil
	}
	outcome, err := graphrecord.DecodeOutcome(found[ref])
	require.NoError(f.tb, err)
	return outcome
}

// queryInt returns the single integer that a query selects.
func (f *fixture) queryInt(sql string, args ...any) int {
	f.tb.Helper()
	var n int
	require.NoError(f.tb, f.conn.QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

// dump returns the contents of the tables of the graph, and of graph_heads only the sequences.
func (f *fixture) dump() string {
	f.tb.Helper()
	var text string
	require.NoError(f.tb, f.conn.QueryRow(context.Background(), `SELECT concat(
		(SELECT string_agg(n::text, E'\n' ORDER BY n::text) FROM nodes n),
		(SELECT string_agg(e::text, E'\n' ORDER BY e::text) FROM edges e),
		(SELECT string_agg(j::text, E'\n' ORDER BY j::text) FROM journal j),
		(SELECT string_agg(u::text, E'\n' ORDER BY u::text) FROM undo_entries u),
		(SELECT string_agg(t::text, E'\n' ORDER BY t::text) FROM graph_totals t),
		(SELECT string_agg(o::text, E'\n' ORDER BY o::text) FROM command_outcomes o),
		(SELECT string_agg(concat(h.workspace_id, h.sequence), E'\n' ORDER BY h.workspace_id)
			FROM graph_heads h))`).Scan(&text))
	return text
}

// readEvents reads the given number of records of topic graph.events from its start.
func (f *fixture) readEvents(records int) []*eventsv1.GraphEvent {
	f.tb.Helper()
	return decodeEvents(f.tb, f.readTopic(f.log.Topic(kafka.TopicEvents).Name, records))
}

func decodeEvents(tb testing.TB, records []*kgo.Record) []*eventsv1.GraphEvent {
	tb.Helper()
	var events []*eventsv1.GraphEvent
	for _, r := range records {
		e := &eventsv1.GraphEvent{}
		require.NoError(tb, proto.Unmarshal(r.Value, e))
		events = append(events, e)
	}
	return events
}

// readTopic reads a topic from its start until it has at least count records.
func (f *fixture) readTopic(name string, count int) []*kgo.Record {
	f.tb.Helper()
	client, err := kgo.NewClient(f.broker.Opts(kgo.ConsumeTopics(name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	require.NoError(f.tb, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.WaitTimeout)
	defer cancel()
	var records []*kgo.Record
	for len(records) < count {
		records = append(records, client.PollFetches(ctx).Records()...)
		require.NoError(f.tb, ctx.Err(), "%d records of %s", len(records), name)
	}
	return records
}

func node(name string) graph.CreateNode {
	return graph.CreateNode{ID: uuid.New(), Name: name, EntityType: graph.Object}
}

func edge(source, target uuid.UUID) graph.CreateEdge {
	return graph.CreateEdge{ID: uuid.New(), SourceID: source, TargetID: target, RelationType: "feeds"}
}
