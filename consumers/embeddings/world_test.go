package embeddings_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/commands"
	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	partitions  = 4
	waitTimeout = 2 * time.Minute
)

// world is an installation of a test's own whose commands are decided.
type world struct {
	tb       testing.TB
	broker   *testenv.Broker
	log      *kafka.Client
	graph    *stores.DB
	vectors  *milvus.DB
	look     client.Client // to see what the collections hold
	embedder embed.Embedder
	config   embeddings.Config
	logger   *slog.Logger
	random   *rand.Rand
}

// newWorld creates one on the Milvus that the tests share.
func newWorld(tb testing.TB) *world { return newWorldOn(tb, testenv.Milvus(tb)) }

func newWorldOn(tb testing.TB, address string) *world {
	tb.Helper()
	ctx := context.Background()
	w := &world{
		tb: tb, broker: testenv.NewKFake(tb), logger: slog.New(slog.NewTextHandler(logTo(), nil)),
		embedder: embed.NewStatic(),
		random:   rand.New(rand.NewPCG(7, 7)),
	}
	w.config = embeddings.Config{
		Group: w.broker.Prefix + "embeddings-test", BatchWait: 20 * time.Millisecond,
		Flush:       true,
		Collections: "t" + strings.ReplaceAll(uuid.NewString(), "-", ""),
		CheckEvery:  200 * time.Millisecond, BehindAfter: time.Second, KeepOld: time.Millisecond, LeaseFor: 2 * time.Second,
	}
	var err error
	w.graph, err = stores.Open(ctx, testenv.MigratedPostgres(tb), 16)
	require.NoError(tb, err)
	tb.Cleanup(w.graph.Close)
	require.NoError(tb, w.graph.Migrate(ctx))
	w.vectors, err = milvus.New(milvus.Options{Address: address})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = w.vectors.Close() })
	w.look, err = client.NewClient(ctx, client.Config{Address: address})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = w.look.Close() })
	tb.Cleanup(func() {
		indexes, err := w.graph.UndroppedIndexes(ctx)
		for _, index := range indexes {
			_ = w.vectors.DropCollection(ctx, index.Collection)
		}
		require.NoError(tb, err)
	})
	w.log = w.client()
	w.decide()
	return w
}

// logTo is where the consumers log: nowhere, or stderr under LIVEGRAPH_TEST_LOG.
func logTo() io.Writer {
	if os.Getenv("LIVEGRAPH_TEST_LOG") != "" {
		return os.Stderr
	}
	return io.Discard
}

func (w *world) client() *kafka.Client {
	w.tb.Helper()
	var c *kafka.Client
	c, err := kafka.Open(context.Background(), kafka.Options{
		Brokers: w.broker.Brokers(), Security: w.broker.Security(), TopicPrefix: w.broker.Prefix, BufferedBytes: 64 << 20,
		CommandsGroup: w.broker.Prefix + "commands", Log: w.logger,
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

// decide has commands carried out and their changes published until the test ends.
func (w *world) decide() {
	w.tb.Helper()
	cache, err := redis.Open(context.Background(), redis.Options{URL: testenv.Redis(w.tb)})
	require.NoError(w.tb, err)
	w.tb.Cleanup(func() { _ = cache.Close() })
	c := commands.New(commands.Deps{
		Log: w.log, Graph: w.graph, Redis: cache, Logger: w.logger,
		Config: commands.Config{Group: w.broker.Prefix + "commands", FetchBytes: 8 << 20},
	})
	w.background(c.Run)
}

// background runs something until stop is called or the test ends.
func (w *world) background(run func(context.Context) error) (stop func()) {
	w.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = func() {
		w.tb.Helper()
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

// index runs a consumer until stop is called or the test ends.
func (w *world) index(change ...func(*embeddings.Deps)) (c *embeddings.Consumer, stop func()) {
	w.tb.Helper()
	deps := embeddings.Deps{
		Log: w.log, Graph: w.graph, Vectors: w.vectors, Embedder: w.embedder, Config: w.config, Logger: w.logger,
	}
	for _, f := range change {
		f(&deps)
	}
	c = embeddings.New(deps)
	return c, w.background(c.Run)
}

func (w *world) tenant() uuid.UUID {
	w.tb.Helper()
	made, err := w.graph.CreateWorkspace(context.Background(), access.Workspace{
		Name: "plant", Plan: "enterprise", Mode: "live",
	})
	require.NoError(w.tb, err)
	return made.ID
}

// actor is whose commands they are.
var actor = uuid.New()

// do puts commands of a workspace into the log and waits until they are carried out,
// or refused.
func (w *world) do(workspace uuid.UUID, payloads ...graph.Payload) {
	w.tb.Helper()
	r := &graphrecord.Request{
		Workspace: workspace, Mode: graphrecord.Separate, ID: uuid.New(),
		Origin: graph.Origin{
			Actor: actor, Scopes: []string{"write:nodes", "write:edges"}, AcceptedAt: time.Now(), RequestID: "req_1",
		},
	}
	for _, p := range payloads {
		r.Actions, r.CommandIDs = append(r.Actions, graph.Action{Payload: p}), append(r.CommandIDs, uuid.New())
	}
	value, err := graphrecord.EncodeRequest(r)
	require.NoError(w.tb, err)
	require.NoError(w.tb, w.log.ProduceCommand(context.Background(), kafka.Record{
		Workspace: workspace, Value: value, RequestID: r.RequestID,
	}))
	ref := graphstore.CommandRef{Workspace: workspace, ID: r.ID}
	w.eventually("commands are carried out", func() bool {
		found, err := w.graph.CommandOutcomes(context.Background(), []graphstore.CommandRef{ref})
		return err == nil && found[ref] != nil
	})
}

func (w *world) eventually(what string, is func() bool) {
	w.tb.Helper()
	require.Eventually(w.tb, is, waitTimeout, 20*time.Millisecond, what)
}

func text(s string) *string { return &s }

func node(name, description string) graph.CreateNode {
	n := graph.CreateNode{ID: uuid.New(), Name: name, EntityType: graph.Object}
	if description != "" {
		n.Description = &description
	}
	return n
}

// standing returns the nodes of a workspace, as the graph has them.
func (w *world) standing(workspace uuid.UUID) []textindex.NodeTexts {
	w.tb.Helper()
	ids, err := w.graph.StandingNodes(context.Background(), workspace, math.MaxInt64, nil, 100_000)
	require.NoError(w.tb, err)
	var refs []textindex.NodeRef
	for _, id := range ids {
		refs = append(refs, textindex.NodeRef{Workspace: workspace, Node: id})
	}
	found, err := w.graph.StandingTexts(context.Background(), refs)
	require.NoError(w.tb, err)
	var list []textindex.NodeTexts
	for _, n := range found {
		list = append(list, n)
	}
	return list
}

// wanted returns what the index should hold of workspaces: a line for each vector.
func (w *world) wanted(workspaces ...uuid.UUID) []string {
	w.tb.Helper()
	var lines []string
	for _, workspace := range workspaces {
		for _, n := range w.standing(workspace) {
			for _, c := range chunk.Split(n.Name, n.Description, n.Properties) {
				vectors, err := w.embedder.Embed(context.Background(), []string{c.Text})
				require.NoError(w.tb, err)
				if v := vectors[0]; v != nil {
					lines = append(lines, fmt.Sprintf("%s %s %d %s %.3f %.3f", workspace, n.Node, c.Index, n.EntityType, v[0], v[1]))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// held returns what a collection holds, likewise; nil: it cannot be read.
func (w *world) held(collection string) []string {
	w.tb.Helper()
	ctx := context.Background()
	found, err := w.look.Query(ctx, collection, nil, `chunk >= 0`, []string{
		"workspace_id", "node_id", "chunk", "entity_type", "vector",
	},
		client.WithLimit(16_000), client.WithSearchQueryConsistencyLevel(entity.ClStrong))
	if err != nil {
		return nil
	}
	lines := []string{}
	workspaces, nodes := found.GetColumn("workspace_id").(*entity.ColumnVarChar),
		found.GetColumn("node_id").(*entity.ColumnVarChar)
	types, chunks := found.GetColumn("entity_type").(*entity.ColumnVarChar), found.GetColumn("chunk").(*entity.ColumnInt64)
	vectors := found.GetColumn("vector").(*entity.ColumnFloatVector)
	for i := range workspaces.Len() {
		v := vectors.Data()[i]
		lines = append(lines, fmt.Sprintf(
			"%s %s %d %s %.3f %.3f", workspaces.Data()[i], nodes.Data()[i], chunks.Data()[i], types.Data()[i], v[0], v[1],
		))
	}
	slices.Sort(lines)
	return lines
}

func (w *world) live() (textindex.SearchIndex, bool) {
	index, err := w.graph.LiveIndex(context.Background())
	return index, err == nil
}

// converges waits until the live index holds what the graph says, and no more.
func (w *world) converges(workspaces ...uuid.UUID) {
	w.tb.Helper()
	want := w.wanted(workspaces...)
	var got []string
	deadline := time.Now().Add(waitTimeout)
	for time.Now().Before(deadline) {
		if index, ok := w.live(); ok {
			if got = w.held(index.Collection); slices.Equal(want, got) {
				n, err := w.vectors.Count(context.Background(), index.Collection)
				require.NoError(w.tb, err)
				require.EqualValues(w.tb, len(want), n)
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.Equal(w.tb, want, got, "the index holds what the graph says")
}

// status waits until the index's status of a workspace is as wanted.
func (w *world) status(workspace uuid.UUID, is func(textindex.IndexStatus) bool) {
	w.tb.Helper()
	var last textindex.IndexStatus
	require.Eventually(w.tb, func() bool {
		var err error
		last, err = w.graph.IndexStatus(context.Background(), workspace)
		return err == nil && is(last)
	}, waitTimeout, 20*time.Millisecond, "%+v", &last)
}

// ready reports whether the index of vectors has everything. Nobody keeps the text lane
// here, so that the status as a whole is another.
func ready(s textindex.IndexStatus) bool {
	return s.Lag.Events == 0 && s.Nodes.Pending == 0 && s.Nodes.Indexed == s.Nodes.Total
}
