package lexical_test

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

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/lexical"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/retrieval"
	terms "github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	partitions  = 2
	waitTimeout = time.Minute
)

// world is a log, a Postgres and a Redis with the consumer that decides commands, so
// that events are those of real changes.
type world struct {
	tb        testing.TB
	broker    *testenv.Broker
	log       *kafka.Client
	graph     *stores.DB
	look      *pgx.Conn // to see what the tables hold
	logger    *slog.Logger
	workspace uuid.UUID
	actor     uuid.UUID
}

func newWorld(tb testing.TB, broker *testenv.Broker) *world {
	tb.Helper()
	ctx := context.Background()
	w := &world{tb: tb, broker: broker, logger: slog.New(slog.NewTextHandler(logTo(), nil)), actor: uuid.New()}
	url := testenv.MigratedPostgres(tb)
	var err error
	w.graph, err = stores.Open(ctx, url, 8)
	require.NoError(tb, err)
	tb.Cleanup(w.graph.Close)
	require.NoError(tb, w.graph.Migrate(ctx))
	w.look, err = pgx.Connect(ctx, url)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = w.look.Close(ctx) })
	w.log, err = kafka.Open(ctx, kafka.Options{
		Brokers: broker.Brokers(), Security: broker.Security(), TopicPrefix: broker.Prefix, BufferedBytes: 64 << 20,
		CommandsGroup: broker.Prefix + "commands-test", Log: w.logger,
	})
	require.NoError(tb, err)
	tb.Cleanup(w.log.Close)
	limited, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	require.NoError(tb, w.log.EnsureTopics(limited, kafka.TopicSettings{
		Partitions: 1, CommandsPartitions: partitions, Replication: -1, RetentionBytes: 1 << 30,
	}))
	db, err := redis.Open(ctx, redis.Options{URL: testenv.Redis(tb)})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	w.workspace = w.newWorkspace()
	w.run(commands.New(commands.Deps{
		Log: w.log, Graph: w.graph, Redis: db, Logger: w.logger,
		Config: commands.Config{Group: broker.Prefix + "commands-test", FetchBytes: 8 << 20},
	}).Run)
	return w
}

// logTo is where the consumers log: nowhere, or stderr under LIVEGRAPH_TEST_LOG.
func logTo() io.Writer {
	if os.Getenv("LIVEGRAPH_TEST_LOG") != "" {
		return os.Stderr
	}
	return io.Discard
}

func (w *world) newWorkspace() uuid.UUID {
	w.tb.Helper()
	made, err := w.graph.CreateWorkspace(context.Background(), access.Workspace{
		Name: "plant", Plan: "enterprise", Mode: "live",
	})
	require.NoError(w.tb, err)
	return made.ID
}

// run runs something until stop or the end of the test.
func (w *world) run(work func(context.Context) error) (stop func()) {
	w.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	stop = func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(w.tb, err)
			done <- nil
		case <-time.After(waitTimeout):
			w.tb.Error("it does not stop")
		}
	}
	w.tb.Cleanup(stop)
	return stop
}

// consume runs the consumer, as a member of a group that has the name.
func (w *world) consume(group string) (c *lexical.Consumer, stop func()) {
	w.tb.Helper()
	c = lexical.New(lexical.Deps{
		Log: w.log, Graph: w.graph, Logger: w.logger,
		Config: lexical.Config{
			Group: w.broker.Prefix + group, BatchWait: time.Millisecond, FetchBytes: 8 << 20, FillEvery: 20 * time.Millisecond,
			Behind: time.Hour,
		},
	})
	return c, w.run(c.Run)
}

func (w *world) eventually(what string, is func() bool) {
	w.tb.Helper()
	require.Eventually(w.tb, is, waitTimeout, 10*time.Millisecond, what)
}

// do has commands decided, each by itself, and waits until they are.
func (w *world) do(in uuid.UUID, actions ...graph.Payload) {
	w.tb.Helper()
	var last graphstore.CommandRef
	for _, payload := range actions {
		r := &graphrecord.Request{
			Workspace: in, Mode: graphrecord.Single, ID: uuid.New(), Actions: []graph.Action{{Payload: payload}},
			Origin: graph.Origin{
				Actor: w.actor, Scopes: []string{"write:nodes", "write:edges"}, AcceptedAt: time.Now(), RequestID: "req_1",
			},
		}
		value, err := graphrecord.EncodeRequest(r)
		require.NoError(w.tb, err)
		require.NoError(w.tb, w.log.ProduceCommand(context.Background(), kafka.Record{
			Workspace: in, Value: value, RequestID: r.RequestID,
		}))
		last = graphstore.CommandRef{Workspace: in, ID: r.ID}
	}
	w.eventually("the commands are decided", func() bool {
		found, err := w.graph.CommandOutcomes(context.Background(), []graphstore.CommandRef{last})
		require.NoError(w.tb, err)
		return found[last] != nil
	})
}

// indexed waits until the lane of a workspace is as far as its graph.
func (w *world) indexed(in uuid.UUID) {
	w.tb.Helper()
	w.eventually("the lane is as far as the graph", func() bool {
		s, err := w.graph.LexicalStatus(context.Background(), in)
		require.NoError(w.tb, err)
		return s.Sequence == s.Head && !s.Filling
	})
}

// found returns the nodes that a query finds.
func (w *world) found(in uuid.UUID, query string) []uuid.UUID {
	w.tb.Helper()
	found, err := w.graph.SearchText(context.Background(), in, terms.Parse(query), retrieval.Filter{}, 100, 0)
	require.NoError(w.tb, err)
	ids := []uuid.UUID{}
	for _, h := range found.Hits {
		ids = append(ids, h.Node)
	}
	return ids
}

// dump is everything that the lane holds, but when.
func (w *world) dump() string {
	w.tb.Helper()
	var text string
	require.NoError(w.tb, w.look.QueryRow(context.Background(), `SELECT concat(
		(SELECT string_agg(concat_ws(' ', node_id, digest, length, name_key, terms), E'\n' ORDER BY node_id)
		FROM lexical_nodes WHERE digest <> ''),
		(SELECT string_agg(p::text, E'\n' ORDER BY p::text) FROM lexical_postings p),
		(SELECT string_agg(t::text, E'\n' ORDER BY t::text) FROM lexical_terms t),
		(SELECT string_agg(concat(s.workspace_id, s.nodes, s.length, s.sequence), E'\n' ORDER BY s.workspace_id)
		FROM lexical_workspaces s))`).Scan(&text))
	return text
}

func node(name, description string) graph.CreateNode {
	return graph.CreateNode{ID: uuid.New(), Name: name, EntityType: graph.Object, Description: &description}
}
