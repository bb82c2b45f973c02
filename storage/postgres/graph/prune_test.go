package graphstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// entries returns the undo entries of a random history of actors, with runs of new commands
// and runs of UNDO and REDO. Each UNDO and REDO applies to any command that it may apply to.
func entries(r *rand.Rand, n int, actors []uuid.UUID) []graph.Entry {
	var list []graph.Entry
	newest := map[uuid.UUID]graph.Sequence{}
	undoing := false
	for sequence := graph.Sequence(1); sequence <= graph.Sequence(n); sequence++ {
		if r.IntN(40) == 0 {
			undoing = !undoing
		}
		var able []int
		undo := r.IntN(3) > 0
		for i, e := range list[max(0, len(list)-300):] {
			stands := e.CancelledBy == 0
			if undo == stands && (stands || e.CancelledBy > newest[e.Actor]) {
				able = append(able, i+max(0, len(list)-300))
			}
		}
		switch {
		case !undoing || len(able) == 0:
			actor := actors[r.IntN(len(actors))]
			list = append(list, graph.Entry{Sequence: sequence, CommandID: uuid.New(), Actor: actor, Type: graph.TypeCreateNode})
			newest[actor] = sequence
		case undo:
			list[able[r.IntN(len(able))]].CancelledBy = sequence
		default:
			list[able[r.IntN(len(able))]].CancelledBy = 0
		}
	}
	return list
}

func TestPrunedStacksAreAsDeepAsBefore(t *testing.T) {
	w := newGraphFixture(t)
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		workspace, actors := w.workspace(t), []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
		const commands = 6_000 // more than one statement examines
		list := entries(r, commands, actors)
		require.NoError(t, w.db.Exec(
			ctx, `INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, $2)`, workspace, commands,
		))
		_, err := w.conn.CopyFrom(ctx, pgx.Identifier{"undo_entries"}, []string{
			"workspace_id", "sequence", "command_id", "actor_id", "type", "cancelled_by",
		},
			pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
				e := list[i]
				return []any{workspace, int64(e.Sequence), e.CommandID, e.Actor, string(e.Type), int64(e.CancelledBy)}, nil
			}))
		require.NoError(t, err)
		stacks := func() map[uuid.UUID]graph.Stacks {
			tx := w.begin(t, 1, graphstore.Needs{Workspace: workspace})
			defer tx.Rollback()
			found := map[uuid.UUID]graph.Stacks{}
			for _, actor := range append(actors, uuid.Nil) {
				read, err := tx.State(workspace).StacksOf(actor)
				require.NoError(t, err)
				read = read.Top(graph.StackDepth)
				read.UndoableFrom, read.RedoableFrom = 0, 0
				found[actor] = read
			}
			return found
		}
		count := func() (n int) {
			require.NoError(
				t, w.conn.QueryRow(ctx, `SELECT count(*) FROM undo_entries WHERE workspace_id = $1`, workspace).Scan(&n),
			)
			return n
		}
		before, was := stacks(), count()
		require.Len(t, before[uuid.Nil].Undoable, graph.StackDepth)
		sum := int64(0)
		for after, more := int64(0), true; more; more = after > 0 {
			var pruned int64
			pruned, after, err = w.db.PruneEntriesTo(ctx, workspace, after, graph.StackDepth)
			require.NoError(t, err)
			sum += pruned
		}
		require.Equal(t, before, stacks())
		require.EqualValues(t, was-count(), sum)
		// Only those of each actor that are in effect and those that can be redone are kept.
		require.LessOrEqual(t, count(), len(actors)*graph.StackDepth+redoable(list))
		require.Greater(t, was, 4*count())
	}
	last, err := w.db.PrunableGraphs(ctx, uuid.Nil, 100)
	require.NoError(t, err)
	require.Len(t, last, 4)
}

// redoable counts the commands that can be redone.
func redoable(list []graph.Entry) (n int) {
	newest := map[uuid.UUID]graph.Sequence{}
	for _, e := range list {
		newest[e.Actor] = e.Sequence
	}
	for _, e := range list {
		if e.CancelledBy > newest[e.Actor] {
			n++
		}
	}
	return n
}

// TestEntriesArePrunedByTheirIndexes prepares the statements while the table is empty.
func TestEntriesArePrunedByTheirIndexes(t *testing.T) {
	w := newGraphFixture(t)
	ctx := context.Background()
	workspace, actor := w.workspace(t), uuid.New()
	for _, setting := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} { // as in a bulk transaction
		_, err := w.conn.Exec(ctx, "SET "+setting+" = off")
		require.NoError(t, err)
	}
	_, err := w.conn.Exec(ctx, `SET plan_cache_mode = force_generic_plan`)
	require.NoError(t, err)
	id := func(id uuid.UUID) string { return "'" + id.String() + "'" }
	statements := map[string]string{
		"entries": fmt.Sprintf(`EXECUTE entries (%s, 5000, 2000)`, id(workspace)),
		"bounds":  fmt.Sprintf(`EXECUTE bounds (%s, ARRAY[%s]::uuid[], 1000)`, id(workspace), id(actor)),
		"gone":    fmt.Sprintf(`EXECUTE gone (%s, '{5,7,11}')`, id(workspace)),
	}
	for name, statement := range map[string]string{
		"entries (uuid, bigint, bigint)": graphstore.SelectEntries, "bounds (uuid, uuid[], bigint)": graphstore.KeptBounds,
		"gone (uuid, bigint[])": graphstore.DeleteEntries,
	} {
		_, err := w.conn.Exec(ctx, "PREPARE "+name+" AS "+statement)
		require.NoError(t, err)
	}
	for _, execute := range statements {
		_, err := w.conn.Exec(ctx, execute)
		require.NoError(t, err)
	}
	_, err = w.conn.Exec(ctx, `INSERT INTO undo_entries (workspace_id, sequence, command_id, actor_id, type, cancelled_by)
		SELECT $1, n, gen_random_uuid(), CASE n % 10 WHEN 0 THEN $2 ELSE gen_random_uuid() END, 'CREATE_NODE', n % 2 * (n + 1)
		FROM generate_series(1, 20000) n`, workspace, actor)
	require.NoError(t, err)
	for name, execute := range statements {
		rows, err := w.conn.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "+execute)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plan := strings.Join(lines, "\n")
		require.NotContains(t, plan, "Seq Scan", name)
		require.NotContains(t, plan, "Rows Removed by Filter", name)
	}
}
