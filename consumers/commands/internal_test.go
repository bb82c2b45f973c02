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
	"github.com/livegraph/livegraph/internal/testenv"
	"github.com/livegraph/livegraph/storage/postgres"
)

func drawStack(t *rapid.T) graph.Stacks {
	stack := graph.Stacks{}
	for i := range rapid.IntRange(0, graph.StackDepth).Draw(t, "entries") {
		stack = append(stack, graph.Entry{
			Sequence: graph.Sequence(i + 1), CommandID: uuid.New(), Actor: uuid.New(), Type: graph.TypeUpdateEdge,
			CancelledBy: graph.Sequence(rapid.Int64Range(0, 1<<62).Draw(t, "cancelledBy")),
		})
	}
	return stack
}

func TestAStackIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stack := drawStack(t)
		encoded := encodeStack(stack)
		decoded, err := decodeStack(encoded)
		require.NoError(t, err)
		require.Equal(t, stack, decoded)
		if len(encoded) > 1 {
			cut := rapid.IntRange(0, len(encoded)-1).Draw(t, "cut")
			if decoded, err := decodeStack(encoded[:cut]); err == nil {
				require.Equal(t, stack[:len(decoded)], decoded, "cut between two entries")
			}
		}
	})
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

// TestAPartitionThatIsLostIsNoRecordsFault has a group's partition go before the group is
// decided, as a broker that was away takes it: that poisons nothing.
func TestAPartitionThatIsLostIsNoRecordsFault(t *testing.T) {
	c := &Consumer{fence: map[int32]int64{1: 7}, logger: slog.New(slog.DiscardHandler)}
	records := []*record{{kafka: &kgo.Record{Partition: 1, Offset: 7}}, {kafka: &kgo.Record{Partition: 0, Offset: 3}}}
	for _, group := range [][]*record{records, records[1:]} {
		err := c.decide(t.Context(), group)
		require.True(t, consumers.IsRejoin(err), "%v", err)
	}
	for _, r := range records {
		require.Empty(t, r.poison)
	}
}

func TestOldOutcomesAreRemovedAFewAtATime(t *testing.T) {
	db, err := postgres.Open(t.Context(), testenv.Postgres(t), 2)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	workspace, err := db.CreateWorkspace(t.Context(), postgres.Workspace{Name: "plant", Plan: "pro", Mode: "live"})
	require.NoError(t, err)
	_, _, err = db.ResolveCommandOffsets(t.Context(), func(context.Context) (postgres.LogState, error) {
		return postgres.LogState{Partitions: []postgres.LogPartition{{ReplacedFrom: -1}}}, nil
	})
	require.NoError(t, err)
	tx, err := db.BeginGraph(t.Context(), postgres.GraphGroup{
		Offsets:    []postgres.GraphOffset{{To: 1}},
		Workspaces: []postgres.GraphNeeds{{Workspace: workspace.ID}},
	})
	require.NoError(t, err)
	refs := make([]postgres.CommandRef, pruneAtOnce+100)
	for i := range refs {
		refs[i] = postgres.CommandRef{Workspace: workspace.ID, ID: uuid.New()}
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
