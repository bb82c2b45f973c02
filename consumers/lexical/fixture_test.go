package lexical_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/lexical"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	terms "github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/consumertest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const partitions = 2

// fixture contains a log, a Postgres and a Redis with a running commands consumer, so that the
// events are those of real changes.
type fixture struct {
	tb        testing.TB
	broker    *kafkatest.Broker
	log       *kafka.Client
	graph     *stores.DB
	conn      *pgx.Conn // for queries of the tests
	logger    *slog.Logger
	workspace uuid.UUID
	actor     uuid.UUID
}

func newFixture(tb testing.TB, broker *kafkatest.Broker) *fixture {
	tb.Helper()
	ctx := context.Background()
	f := &fixture{tb: tb, broker: broker, logger: testenv.Logger(), actor: uuid.New()}
	url := pgtest.Migrated(tb)
	f.graph = consumertest.OpenDatabase(tb, url, 8)
	var err error
	f.conn, err = pgx.Connect(ctx, url)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.conn.Close(ctx) })
	f.log = consumertest.OpenLog(tb, broker, f.graph, partitions)
	f.workspace = f.newWorkspace()
	consumertest.RunCommands(tb, broker, f.log, f.graph)
	return f
}

func (f *fixture) newWorkspace() uuid.UUID {
	f.tb.Helper()
	return consumertest.NewWorkspace(f.tb, f.graph)
}

// consume runs the consumer as a member of the given group.
func (f *fixture) consume(group string) (c *lexical.Consumer, stop func()) {
	f.tb.Helper()
	c = lexical.New(lexical.Deps{
		Log: f.log, Graph: f.graph, Logger: f.logger,
		Config: lexical.Config{
			Group: f.broker.Prefix + group, BatchWait: time.Millisecond, FetchBytes: 8 << 20, FillEvery: 20 * time.Millisecond,
			Behind: time.Hour,
		},
	})
	return c, testenv.RunInBackground(f.tb, c.Run)
}

func (f *fixture) eventually(what string, condition func() bool) {
	f.tb.Helper()
	require.Eventually(f.tb, condition, testenv.WaitTimeout, 10*time.Millisecond, what)
}

// do submits commands one by one and waits until they are decided.
func (f *fixture) do(workspace uuid.UUID, actions ...graph.Payload) {
	f.tb.Helper()
	consumertest.Do(f.tb, f.log, f.graph, workspace, f.actor, actions...)
}

// waitForIndex waits until the text index of a workspace is up to date with its graph.
func (f *fixture) waitForIndex(workspace uuid.UUID) {
	f.tb.Helper()
	f.eventually("the index is up to date with the graph", func() bool {
		s, err := f.graph.LexicalStatus(context.Background(), workspace)
		require.NoError(f.tb, err)
		return s.Sequence == s.Head && !s.Filling
	})
}

// search returns the nodes that match a query.
func (f *fixture) search(workspace uuid.UUID, query string) []uuid.UUID {
	f.tb.Helper()
	found, err := f.graph.SearchText(context.Background(), workspace, terms.Parse(query), retrieval.Filter{}, 100, 0)
	require.NoError(f.tb, err)
	ids := []uuid.UUID{}
	for _, h := range found.Hits {
		ids = append(ids, h.Node)
	}
	return ids
}

// dump returns the contents of the text index without times.
func (f *fixture) dump() string {
	f.tb.Helper()
	var text string
	require.NoError(f.tb, f.conn.QueryRow(context.Background(), `SELECT concat(
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
