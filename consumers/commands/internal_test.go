package commands

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/consumers"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/pgtest"
)

func drawStack(t *rapid.T) graph.Stacks {
	sequence := func(label string) graph.Sequence {
		return graph.Sequence(rapid.Int64Range(0, 1<<62).Draw(t, label))
	}
	stacks := graph.Stacks{
		Newest: sequence("newest"), UndoableFrom: sequence("standing"), RedoableFrom: sequence("cancelled"),
	}
	for _, list := range []*[]graph.Entry{&stacks.Undoable, &stacks.Redoable} {
		for i := range rapid.IntRange(0, graph.StackDepth).Draw(t, "entries") {
			*list = append(*list, graph.Entry{
				Sequence: graph.Sequence(i + 1), CommandID: uuid.New(), Actor: uuid.New(), Type: graph.TypeUpdateEdge,
				CancelledBy: sequence("by"),
			})
		}
	}
	return stacks
}

func TestAStackIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stacks := drawStack(t)
		encoded := encodeStack(stacks)
		decoded, err := decodeStack(encoded)
		require.NoError(t, err)
		require.Equal(t, stacks, decoded)
		_, err = decodeStack(encoded[:rapid.IntRange(0, len(encoded)-1).Draw(t, "cut")])
		require.ErrorIs(t, err, errStack)
	})
}

func TestOfLongStacksRedisHasTheTopAndAMarkerForMore(t *testing.T) {
	var stacks graph.Stacks
	for i := range 3 * graph.StackDepth {
		stacks.Add(graph.Entry{Sequence: graph.Sequence(i + 1), Type: graph.TypeCreateNode})
	}
	decoded, err := decodeStack(encodeStack(stacks))
	require.NoError(t, err)
	require.Len(t, decoded.Undoable, graph.StackDepth)
	require.False(t, decoded.IsShort())
	top, _ := decoded.Undo()
	decoded.Cancel(top)
	require.True(t, decoded.IsShort(), "the one below the hundredth stands, too")
}

// cachedStacks returns the stacks of a workspace whose last change, head, is by each of the actors.
func cachedStacks(head graph.Sequence, actors ...uuid.UUID) *graphstore.RememberedStacks {
	now := &graphstore.RememberedStacks{Head: head, Actors: map[uuid.UUID]graph.Stacks{}}
	for _, actor := range actors {
		now.Actors[actor] = graph.Stacks{Newest: head, Undoable: []graph.Entry{{Sequence: head, Actor: actor}}}
	}
	return now
}

func TestWhatIsRememberedOfOneWorkspaceIsBounded(t *testing.T) {
	s := newStackCache(nil, slog.New(slog.DiscardHandler), newMetrics(nil))
	s.limit = 100 * (stackOverhead + 1)
	workspace, other := uuid.New(), uuid.New()
	s.saveInMemory(other, 0, cachedStacks(1, uuid.New()), nil)
	actors := make([]uuid.UUID, 1000)
	for i := range actors {
		actors[i] = uuid.New()
		s.saveInMemory(workspace, graph.Sequence(i), cachedStacks(graph.Sequence(i+1), actors[i]), actors[i:i+1])
	}
	require.LessOrEqual(t, s.entries, s.limit)
	require.Equal(t, 100, s.lru.Len())
	require.NotContains(t, s.workspaces, other, "it was evicted")
	needs := []graphstore.Needs{{Workspace: workspace, Actors: []uuid.UUID{actors[0], actors[999]}}}
	_, _ = s.loadFromMemory(needs)
	require.EqualValues(t, 1000, needs[0].Stacks.Head)
	require.Len(t, needs[0].Stacks.Actors, 1)
	require.Contains(t, needs[0].Stacks.Actors, actors[999], "the last actors are cached")

	s.saveInMemory(workspace, 1000, cachedStacks(1001, actors[998]), []uuid.UUID{actors[998], actors[999]})
	require.NotContains(t, s.workspaces[workspace].actors, actors[999], "another actor's undo changed its stacks")
	require.Contains(t, s.workspaces[workspace].actors, actors[997])
	s.saveInMemory(workspace, 2000, cachedStacks(2001, actors[1]), actors[1:2])
	require.Len(t, s.workspaces[workspace].actors, 1, "another process decided meanwhile")
	require.Equal(t, stackOverhead+1, s.entries)
}

func TestWhatWaitsToBeKeptInRedisIsBounded(t *testing.T) {
	s := newStackCache(nil, slog.New(slog.DiscardHandler), newMetrics(nil))
	for range maxQueuedStacks {
		s.enqueue(redis.StackUpdate{Actors: map[uuid.UUID][]byte{uuid.Nil: make([]byte, 1<<20)}})
	}
	require.LessOrEqual(t, s.queuedBytes.Load(), int64(maxQueuedStackBytes))
	require.Len(t, s.queue, 15)
}

func FuzzDecodeStack(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeStack(rapid.Custom(drawStack).Example(1)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if stack, err := decodeStack(raw); err == nil {
			again, err := decodeStack(encodeStack(stack))
			require.NoError(t, err)
			require.Equal(t, stack, again)
		}
	})
}

// TestAPartitionThatIsLostIsNoRecordsFault revokes the partition of a group before the group is
// decided, as happens when a broker was unavailable. No record is poisoned.
func TestAPartitionThatIsLostIsNoRecordsFault(t *testing.T) {
	c := &Consumer{
		owned: map[int32]*partition{1: newPartition(1, 7, uuid.New())}, logger: slog.New(slog.DiscardHandler),
		decideSlots: make(chan struct{}, 1),
	}
	records := []*record{{kafka: &kgo.Record{Partition: 0, Offset: 3}}, {kafka: &kgo.Record{Partition: 1, Offset: 7}}}
	err := c.decide(t.Context(), records[:1])
	require.True(t, consumers.IsRejoin(err), "%v", err)
	d := &decider{Consumer: c, partition: newPartition(1, 7, uuid.New())}
	require.True(t, consumers.IsRejoin(d.decide(t.Context(), records[1:])), "it was revoked and assigned again")
	for _, r := range records {
		require.Empty(t, r.poison)
	}
}

func TestOldOutcomesAreRemovedAFewAtATime(t *testing.T) {
	db, err := stores.Open(t.Context(), pgtest.Migrated(t), 2)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	workspace, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "plant", Plan: "pro", Mode: "live"})
	require.NoError(t, err)
	_, _, err = db.ResolveCommandOffsets(t.Context(), func(context.Context) (postgres.LogState, error) {
		return postgres.LogState{Partitions: []postgres.LogPartition{{ReplacedFrom: -1}}}, nil
	})
	require.NoError(t, err)
	tx, err := db.BeginGraph(t.Context(), graphstore.Group{
		Offsets:    []graphstore.Offset{{To: 1}},
		Workspaces: []graphstore.Needs{{Workspace: workspace.ID}},
	})
	require.NoError(t, err)
	refs := make([]graphstore.CommandRef, pruneBatch+100)
	for i := range refs {
		refs[i] = graphstore.CommandRef{Workspace: workspace.ID, ID: uuid.New()}
		tx.AddOutcome(workspace.ID, refs[i].ID, uuid.New(), []byte("x"))
	}
	require.NoError(t, tx.Commit())

	p := &pruner{db: db, kept: time.Hour, logger: slog.Default(), metrics: newMetrics(nil)}
	require.NoError(t, p.prune(t.Context()))
	left, err := db.CommandOutcomes(t.Context(), refs)
	require.NoError(t, err)
	require.Len(t, left, len(refs), "they are young")
	p.kept = 0
	require.NoError(t, p.prune(t.Context()))
	left, err = db.CommandOutcomes(t.Context(), refs)
	require.NoError(t, err)
	require.Empty(t, left)
}
