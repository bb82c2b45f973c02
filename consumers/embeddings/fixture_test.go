package embeddings_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/embeddings"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/retrieval/chunk"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/consumertest"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const partitions = 4

// fixture is a separate installation for a test, with a running commands consumer.
type fixture struct {
	tb       testing.TB
	broker   *kafkatest.Broker
	log      *kafka.Client
	graph    *stores.DB
	vectors  *milvus.DB
	milvus   client.Client // reads collections directly
	embedder embed.Embedder
	config   embeddings.Config
	logger   *slog.Logger
	random   *rand.Rand
}

// newFixture creates a fixture on the Milvus that the tests share.
func newFixture(tb testing.TB) *fixture { return newFixtureOn(tb, testenv.Milvus(tb)) }

func newFixtureOn(tb testing.TB, address string) *fixture {
	tb.Helper()
	ctx := context.Background()
	f := &fixture{
		tb: tb, broker: kafkatest.NewKFake(tb), logger: testenv.Logger(),
		embedder: embed.NewStatic(),
		random:   rand.New(rand.NewPCG(7, 7)),
	}
	f.config = embeddings.Config{
		Group: f.broker.Prefix + "embeddings-test", BatchWait: 20 * time.Millisecond,
		Flush:       true,
		Collections: "t" + strings.ReplaceAll(uuid.NewString(), "-", ""),
		CheckEvery:  200 * time.Millisecond, BehindAfter: time.Second, KeepOld: time.Millisecond, LeaseFor: 2 * time.Second,
	}
	f.graph = consumertest.OpenDatabase(tb, pgtest.Migrated(tb), 16)
	var err error
	f.vectors, err = milvus.New(milvus.Options{Address: address})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.vectors.Close() })
	f.milvus, err = client.NewClient(ctx, client.Config{Address: address})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.milvus.Close() })
	tb.Cleanup(func() {
		indexes, err := f.graph.UndroppedIndexes(ctx)
		for _, index := range indexes {
			_ = f.vectors.DropCollection(ctx, index.Collection)
		}
		require.NoError(tb, err)
	})
	f.log = consumertest.OpenLog(tb, f.broker, f.graph, partitions)
	consumertest.RunCommands(tb, f.broker, f.log, f.graph)
	return f
}

// runConsumer runs an embeddings consumer until stop is called or the test ends.
func (f *fixture) runConsumer(change ...func(*embeddings.Deps)) (c *embeddings.Consumer, stop func()) {
	f.tb.Helper()
	deps := embeddings.Deps{
		Log: f.log, Graph: f.graph, Vectors: f.vectors, Embedder: f.embedder, Config: f.config, Logger: f.logger,
	}
	for _, apply := range change {
		apply(&deps)
	}
	c = embeddings.New(deps)
	return c, testenv.RunInBackground(f.tb, c.Run)
}

func (f *fixture) newWorkspace() uuid.UUID {
	f.tb.Helper()
	return consumertest.NewWorkspace(f.tb, f.graph)
}

// actor is the actor of all commands.
var actor = uuid.New()

// do produces commands of a workspace and waits until they are executed or refused.
func (f *fixture) do(workspace uuid.UUID, payloads ...graph.Payload) {
	f.tb.Helper()
	r := consumertest.NewRequest(workspace, actor, graphrecord.Separate, payloads...)
	consumertest.AwaitOutcome(f.tb, f.graph, consumertest.Submit(f.tb, f.log, r))
}

func (f *fixture) eventually(what string, condition func() bool) {
	f.tb.Helper()
	require.Eventually(f.tb, condition, testenv.WaitTimeout, 20*time.Millisecond, what)
}

func text(s string) *string { return &s }

func node(name, description string) graph.CreateNode {
	n := graph.CreateNode{ID: uuid.New(), Name: name, EntityType: graph.Object}
	if description != "" {
		n.Description = &description
	}
	return n
}

// nodes returns the existing nodes of a workspace.
func (f *fixture) nodes(workspace uuid.UUID) []textindex.NodeTexts {
	f.tb.Helper()
	ids, err := f.graph.LiveNodes(context.Background(), workspace, math.MaxInt64, nil, 100_000)
	require.NoError(f.tb, err)
	var refs []textindex.NodeRef
	for _, id := range ids {
		refs = append(refs, textindex.NodeRef{Workspace: workspace, Node: id})
	}
	found, err := f.graph.LiveTexts(context.Background(), refs)
	require.NoError(f.tb, err)
	var list []textindex.NodeTexts
	for _, n := range found {
		list = append(list, n)
	}
	return list
}

// expectedVectors returns the vectors that the index must contain for workspaces, one line each.
func (f *fixture) expectedVectors(workspaces ...uuid.UUID) []string {
	f.tb.Helper()
	var lines []string
	for _, workspace := range workspaces {
		for _, n := range f.nodes(workspace) {
			for _, c := range chunk.Split(n.Name, n.Description, n.Properties) {
				vectors, err := f.embedder.Embed(context.Background(), []string{c.Text})
				require.NoError(f.tb, err)
				if v := vectors[0]; v != nil {
					lines = append(lines, fmt.Sprintf("%s %s %d %s %.3f %.3f", workspace, n.Node, c.Index, n.EntityType, v[0], v[1]))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// storedVectors returns the vectors in a collection, one line each, or nil if it cannot be read.
func (f *fixture) storedVectors(collection string) []string {
	f.tb.Helper()
	ctx := context.Background()
	found, err := f.milvus.Query(ctx, collection, nil, `chunk >= 0`, []string{
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

func (f *fixture) live() (textindex.SearchIndex, bool) {
	index, err := f.graph.LiveIndex(context.Background())
	return index, err == nil
}

// waitForConvergence waits until the live index contains exactly the expected vectors.
func (f *fixture) waitForConvergence(workspaces ...uuid.UUID) {
	f.tb.Helper()
	want := f.expectedVectors(workspaces...)
	var got []string
	deadline := time.Now().Add(testenv.WaitTimeout)
	for time.Now().Before(deadline) {
		if index, ok := f.live(); ok {
			if got = f.storedVectors(index.Collection); slices.Equal(want, got) {
				n, err := f.vectors.Count(context.Background(), index.Collection)
				require.NoError(f.tb, err)
				require.EqualValues(f.tb, len(want), n)
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.Equal(f.tb, want, got, "the index contains the expected vectors")
}

// waitForStatus waits until the index status of a workspace fulfils the condition.
func (f *fixture) waitForStatus(workspace uuid.UUID, condition func(textindex.IndexStatus) bool) {
	f.tb.Helper()
	var last textindex.IndexStatus
	require.Eventually(f.tb, func() bool {
		var err error
		last, err = f.graph.IndexStatus(context.Background(), workspace)
		return err == nil && condition(last)
	}, testenv.WaitTimeout, 20*time.Millisecond, "%+v", &last)
}

// ready reports whether the vector index is complete. It ignores the overall status, because no
// consumer updates the text index here.
func ready(s textindex.IndexStatus) bool {
	return s.Lag.Events == 0 && s.Nodes.Pending == 0 && s.Nodes.Indexed == s.Nodes.Total
}
