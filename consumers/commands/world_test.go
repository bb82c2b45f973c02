package commands_test

import (
	"context"
	"io"
	"log/slog"
	"os"
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
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	partitions  = 4
	waitTimeout = time.Minute
)

// world is a log, or what has a prefix of the test's own on one, and a Postgres and a
// its own Redis, with a workspace.
type world struct {
	tb        testing.TB
	broker    *testenv.Broker
	log       *kafka.Client
	graph     *stores.DB
	redis     *redis.DB
	look      *pgx.Conn // to see what the tables hold
	url       string    // of Postgres
	redisURL  string
	replies   *redis.Replies
	config    commands.Config
	logger    *slog.Logger
	workspace uuid.UUID
	actor     uuid.UUID
}

func newWorld(tb testing.TB, broker *testenv.Broker) *world {
	tb.Helper()
	ctx := context.Background()
	w := &world{tb: tb, broker: broker, logger: slog.New(slog.NewTextHandler(logTo(), nil)), actor: uuid.New()}
	w.config = commands.Config{Group: broker.Prefix + "commands-test", FetchBytes: 8 << 20}
	var err error
	w.url, w.redisURL = testenv.MigratedPostgres(tb), testenv.Redis(tb)
	w.graph, err = stores.Open(ctx, w.url, 8)
	require.NoError(tb, err)
	tb.Cleanup(w.graph.Close)
	require.NoError(tb, w.graph.Migrate(ctx))
	w.look, err = pgx.Connect(ctx, w.url)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = w.look.Close(ctx) })
	w.redis, err = redis.Open(ctx, redis.Options{URL: w.redisURL})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = w.redis.Close() })
	w.log = w.client()
	w.workspace = w.newWorkspace()
	w.replies = w.redis.NewReplies(w.logger)
	listening, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.replies.Run(listening) }()
	tb.Cleanup(func() {
		stop()
		require.ErrorIs(tb, <-done, context.Canceled)
	})
	w.eventually("replies are heard", w.replies.Connected)
	return w
}

// logTo is where the consumers log: nowhere, or stderr under LIVEGRAPH_TEST_LOG.
func logTo() io.Writer {
	if os.Getenv("LIVEGRAPH_TEST_LOG") != "" {
		return os.Stderr
	}
	return io.Discard
}

// client makes a client of the log as a its own process would have.
func (w *world) client() *kafka.Client {
	w.tb.Helper()
	var c *kafka.Client
	c, err := kafka.Open(context.Background(), kafka.Options{
		Brokers: w.broker.Brokers(), Security: w.broker.Security(), TopicPrefix: w.broker.Prefix, BufferedBytes: 64 << 20,
		CommandsGroup: w.config.Group, Log: w.logger,
		OnCommandsChange: func(ctx context.Context, _ kafka.TopicInfo) error {
			return commands.ResolveOffsets(ctx, c, w.graph, w.logger)
		},
	})
	require.NoError(w.tb, err)
	w.tb.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	require.NoError(w.tb, c.EnsureTopics(ctx, kafka.TopicSettings{
		Partitions: 1, CommandsPartitions: partitions, Replication: -1, RetentionBytes: 1 << 30,
	}))
	return c
}

func (w *world) newWorkspace() uuid.UUID {
	w.tb.Helper()
	made, err := w.graph.CreateWorkspace(context.Background(), access.Workspace{
		Name: "plant", Plan: "enterprise", Mode: "live",
	})
	require.NoError(w.tb, err)
	return made.ID
}

func (w *world) eventually(what string, is func() bool) {
	w.tb.Helper()
	require.Eventually(w.tb, is, waitTimeout, 5*time.Millisecond, what)
}

// running is a consumer that runs.
type running struct {
	*commands.Consumer
	tb     testing.TB
	cancel context.CancelFunc
	done   chan error
}

// consume runs a consumer until stop or the end of the test.
func (w *world) consume() *running { return w.consumeWith(w.log, w.redis) }

func (w *world) consumeWith(log *kafka.Client, db *redis.DB) *running {
	w.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{
		Consumer: commands.New(commands.Deps{Log: log, Graph: w.graph, Redis: db, Config: w.config, Logger: w.logger}),
		tb:       w.tb, cancel: cancel, done: make(chan error, 1),
	}
	go func() { r.done <- r.Run(ctx) }()
	w.tb.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.tb.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		require.NoError(r.tb, err)
		r.done <- nil
	case <-time.After(waitTimeout):
		r.tb.Error("the consumer does not stop")
	}
}

func (w *world) request(mode graphrecord.Mode, actions ...graph.Payload) *graphrecord.Request {
	r := &graphrecord.Request{
		Workspace: w.workspace, Mode: mode, ID: uuid.New(),
		Origin: graph.Origin{
			Actor: w.actor, Scopes: []string{"write:nodes", "write:edges"}, AcceptedAt: time.Now(), RequestID: "req_1",
		},
	}
	for _, payload := range actions {
		r.Actions = append(r.Actions, graph.Action{Payload: payload})
		if mode == graphrecord.Separate {
			r.CommandIDs = append(r.CommandIDs, uuid.New())
		}
	}
	return r
}

func (w *world) record(r *graphrecord.Request) kafka.Record {
	w.tb.Helper()
	value, err := graphrecord.EncodeRequest(r)
	require.NoError(w.tb, err)
	return kafka.Record{Workspace: r.Workspace, Value: value, RequestID: r.RequestID, ReplyTo: w.replies.Address()}
}

func (w *world) produce(r *graphrecord.Request) {
	w.tb.Helper()
	require.NoError(w.tb, w.log.ProduceCommand(context.Background(), w.record(r)))
}

// ask produces a request and gives the outcome that is replied.
func (w *world) ask(r *graphrecord.Request) *eventsv1.Outcome {
	w.tb.Helper()
	heard, stop := w.replies.Await(r.ID)
	defer stop()
	w.produce(r)
	select {
	case encoded := <-heard:
		if len(encoded) == 0 { // only the notice: it is large
			return w.stored(r)
		}
		outcome, err := graphrecord.DecodeOutcome(encoded)
		require.NoError(w.tb, err)
		require.Equal(w.tb, r.ID[:], outcome.GetId())
		return outcome
	case <-time.After(waitTimeout):
		require.FailNow(w.tb, "no reply")
		return nil
	}
}

// do asks for a single command and gives its result.
func (w *world) do(p graph.Payload) *eventsv1.Result {
	w.tb.Helper()
	outcome := w.ask(w.request(graphrecord.Single, p))
	require.Nil(w.tb, outcome.GetFailure())
	require.Len(w.tb, outcome.GetResults(), 1)
	return outcome.GetResults()[0]
}

// stored returns the outcome that Postgres has, nil if none.
func (w *world) stored(r *graphrecord.Request) *eventsv1.Outcome {
	w.tb.Helper()
	ref := graphstore.CommandRef{Workspace: r.Workspace, ID: r.ID}
	found, err := w.graph.CommandOutcomes(context.Background(), []graphstore.CommandRef{ref})
	require.NoError(w.tb, err)
	if found[ref] == nil {
		return nil
	}
	outcome, err := graphrecord.DecodeOutcome(found[ref])
	require.NoError(w.tb, err)
	return outcome
}

// number returns the one number that a query asks for.
func (w *world) number(sql string, args ...any) int {
	w.tb.Helper()
	var n int
	require.NoError(w.tb, w.look.QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

// dump is everything that the tables of the graph hold, but when.
func (w *world) dump() string {
	w.tb.Helper()
	var text string
	require.NoError(w.tb, w.look.QueryRow(context.Background(), `SELECT concat(
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

// events reads topic graph.events from its start until it has so many records.
func (w *world) events(records int) []*eventsv1.GraphEvent {
	w.tb.Helper()
	return decodeEvents(w.tb, w.topic(w.log.Topic(kafka.TopicEvents).Name, records))
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

// topic reads a topic from its start until it has so many records.
func (w *world) topic(name string, count int) []*kgo.Record {
	w.tb.Helper()
	client, err := kgo.NewClient(w.broker.Opts(kgo.ConsumeTopics(name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	require.NoError(w.tb, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	var records []*kgo.Record
	for len(records) < count {
		records = append(records, client.PollFetches(ctx).Records()...)
		require.NoError(w.tb, ctx.Err(), "%d records of %s", len(records), name)
	}
	return records
}

func node(name string) graph.CreateNode {
	return graph.CreateNode{ID: uuid.New(), Name: name, EntityType: graph.Object}
}

func edge(source, target uuid.UUID) graph.CreateEdge {
	return graph.CreateEdge{ID: uuid.New(), SourceID: source, TargetID: target, RelationType: "feeds"}
}
