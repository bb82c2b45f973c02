package graphstore_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
	"github.com/livegraph/livegraph/internal/platform/fault"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// stackHistory decides the commands of graphtest.Bursts in transactions of several commands.
// Between transactions it remembers the stacks of all or some actors, as a process and Redis
// do, or of none.
type stackHistory struct {
	t            *rapid.T
	w            *graphFixture
	workspace    uuid.UUID
	actors       []uuid.UUID
	tx           *graphstore.Tx
	commandsLeft int // in this transaction
	remembered   *graphstore.RememberedStacks
}

func (h *stackHistory) roll(n int) int { return (&graphHistory{t: h.t}).roll(n, "roll") }

func (h *stackHistory) state() *graphstore.State {
	if h.commandsLeft == 0 {
		h.commit()
		needs := graphstore.Needs{Workspace: h.workspace, Stacks: h.remembered}
		for _, actor := range append([]uuid.UUID{uuid.Nil}, h.actors...) {
			if h.roll(2) == 0 {
				needs.Actors = append(needs.Actors, actor)
			}
		}
		needs.Reversals = map[uuid.UUID]graphstore.Reversals{h.actors[0]: {Undos: h.roll(9), Redos: h.roll(9)}}
		h.tx, h.commandsLeft = h.w.begin(h.t, 8, needs), 1+h.roll(200)
	}
	return h.tx.State(h.workspace)
}

func (h *stackHistory) commit() {
	if h.tx == nil {
		return
	}
	h.w.commit(h.t, h.tx)
	stacks, _ := h.tx.State(h.workspace).Stacks()
	h.remembered = nil
	keep, limit := h.roll(8), []int{graph.StackDepth, math.MaxInt}[h.roll(2)]
	if keep > 2 {
		h.remembered = &graphstore.RememberedStacks{Head: stacks.Head, Actors: map[uuid.UUID]graph.Stacks{}}
	}
	for actor, actorStacks := range stacks.Actors {
		if keep > 3 || h.roll(2) == 0 && keep > 2 {
			h.remembered.Actors[actor] = actorStacks.Top(limit)
		}
	}
	h.tx = nil
}

func (h *stackHistory) decide(c graph.Command) (graph.Outcome, error) {
	state := h.state()
	h.commandsLeft--
	outcome, err := graph.Apply(state, c, state.Next(), graphtest.NewMemory().Now())
	if err == nil && outcome.Change != nil {
		err = state.Record(outcome.Change)
	}
	return outcome, err
}

func TestStacksOfTheDatabaseEqualThoseOfAnOracle(t *testing.T) {
	w := newGraphFixture(t)
	rapid.Check(t, func(t *rapid.T) {
		h := &stackHistory{t: t, w: w, workspace: w.workspace(t), actors: []uuid.UUID{
			graphID(3, 1), graphID(3, 2), graphID(3, 3),
		}}
		t.Cleanup(func() {
			if h.tx != nil {
				h.tx.Rollback()
			}
		})
		b := &graphtest.Bursts{
			Actors: h.actors, Roll: h.roll, Apply: h.decide,
			Depths: func(actor uuid.UUID) (undo, redo int, err error) {
				if h.tx == nil {
					h.commandsLeft = 0
				}
				return h.state().Depths(actor)
			},
		}
		for range 14 - min(13, rapid.IntRange(0, 28).Draw(t, "fewer")) {
			require.NoError(t, b.Burst())
		}
		h.commit()
	})
}

// TestStacksAreReadByTheirIndexes prepares the plan while the table is empty, as a connection
// of a new installation does, and uses it when an actor has many commands of which few are in
// effect.
func TestStacksAreReadByTheirIndexes(t *testing.T) {
	w := newGraphFixture(t)
	ctx := context.Background()
	workspace, actor := w.workspace(t), uuid.New()
	conn := w.conn
	_, err := conn.Exec(ctx, `SET plan_cache_mode = force_generic_plan`)
	require.NoError(t, err)
	for _, setting := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} { // as in a group
		_, err := conn.Exec(ctx, "SET "+setting+" = off")
		require.NoError(t, err)
	}
	_, err = conn.Exec(ctx, `PREPARE stacks (uuid[], uuid[], bigint) AS `+graphstore.SelectStacks)
	require.NoError(t, err)
	execute := fmt.Sprintf(`EXECUTE stacks ('{%[1]s,%[1]s}', '{%[2]s,%[3]s}', 200)`, workspace, actor, uuid.Nil)
	_, err = conn.Exec(ctx, execute)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, `INSERT INTO undo_entries (workspace_id, sequence, command_id, actor_id, type, cancelled_by)
		SELECT $1, n, gen_random_uuid(), CASE n % 10 WHEN 0 THEN $2 ELSE gen_random_uuid() END, 'CREATE_NODE',
		CASE WHEN n < 40000 AND n % 1000 <> 0 THEN n + 1 ELSE 0 END FROM generate_series(1, 50000) n`, workspace, actor)
	require.NoError(t, err)
	rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "+execute)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	plan := strings.Join(lines, "\n")
	for _, index := range []string{
		"undo_entries_standing on", "undo_entries_standing_all on", "undo_entries_cancelled on",
		"undo_entries_cancelled_all on", "undo_entries_newest on",
	} {
		require.Contains(t, plan, index)
	}
	require.NotContains(t, plan, "Rows Removed by Filter", "no row is read and then discarded")
	require.NotContains(t, plan, "Bitmap")
}

// TestADeletionOfManyEdgesIsRedoneAfterAnotherOfThemWasUndone uses more edges than a change
// lists.
func TestADeletionOfManyEdgesIsRedoneAfterAnotherOfThemWasUndone(t *testing.T) {
	w := newGraphFixture(t)
	workspace := w.workspace(t)
	try := func(actor int, actions ...graph.Payload) (graph.Outcome, error) {
		tx := w.begin(t, 64, graphstore.Needs{Workspace: workspace})
		state := tx.State(workspace)
		o, at := graph.Origin{Actor: graphID(3, actor), Scopes: []string{"admin"}}, graphtest.NewMemory().Now()
		batch := graph.Batch{ID: uuid.New(), Origin: o}
		for _, p := range actions {
			batch.Actions = append(batch.Actions, graph.Action{Payload: p})
		}
		var outcome graph.Outcome
		var err error
		if len(actions) > 1 {
			outcome, err = graph.ApplyBatch(state, batch, state.Next(), at)
		} else {
			outcome, err = graph.Apply(state, graph.Command{ID: batch.ID, Origin: o, Action: batch.Actions[0]}, state.Next(), at)
		}
		if err == nil {
			require.NoError(t, state.Record(outcome.Change))
		}
		w.commit(t, tx)
		return outcome, err
	}
	do := func(actor int, actions ...graph.Payload) {
		_, err := try(actor, actions...)
		require.NoError(t, err)
	}
	standing := func() (count int) {
		require.NoError(t, w.conn.QueryRow(context.Background(), `SELECT count(*) FROM edges WHERE NOT deleted`).Scan(&count))
		return count
	}
	hub, other := graphID(1, 1), graphID(1, 2)
	edge := func() graph.Payload {
		return graph.CreateEdge{ID: uuid.New(), SourceID: hub, TargetID: other, RelationType: "feeds"}
	}
	const many = graph.MaxListed + 200
	do(
		3, graph.CreateNode{ID: hub, Name: "hub", EntityType: graph.Object},
		graph.CreateNode{ID: other, Name: "other", EntityType: graph.Object},
	)
	for range 2 {
		edges := make([]graph.Payload, many/2)
		for i := range edges {
			edges[i] = edge()
		}
		do(3, edges...)
	}
	do(1, graph.DeleteNode{ID: hub})
	do(1, graph.Undo{})
	for _, end := range []uuid.UUID{hub, other} {
		do(2, graph.DeleteNode{ID: end})
		do(2, graph.Undo{})
		require.Equal(t, many, standing())
		do(1, graph.Redo{})
		require.Zero(t, standing())
		do(1, graph.Undo{})
		require.Equal(t, many, standing())
	}
	do(2, graph.Redo{})
	do(2, graph.Undo{})
	more := edge().(graph.CreateEdge)
	do(3, more)
	_, err := try(1, graph.Redo{})
	var refused *fault.Error
	require.ErrorAs(t, err, &refused)
	conflicts := refused.Details["conflicts"].([]graph.Conflict)
	require.Len(t, conflicts, 1)
	require.Equal(t, more.ID, conflicts[0].ID)
}

// TestABatchThatIsNamedIsUndoneByFewStatements counts the statements. One for each step would
// take seconds on a busy database.
func TestABatchThatIsNamedIsUndoneByFewStatements(t *testing.T) {
	w := newGraphFixture(t)
	workspace := w.workspace(t)
	recorder, err := w.db.Recorder(context.Background())
	require.NoError(t, err)
	t.Cleanup(recorder.Close)
	w.db = recorder.DB
	o, at := graph.Origin{Actor: graphID(3, 1), Scopes: []string{"admin"}}, graphtest.NewMemory().Now()
	batch := graph.Batch{ID: uuid.New(), Origin: o}
	for i := range 100 {
		node := graphID(1, i)
		batch.Actions = append(
			batch.Actions,
			graph.Action{Payload: graph.CreateNode{ID: node, Name: "node", EntityType: graph.Object}},
			graph.Action{Payload: graph.CreateEdge{ID: uuid.New(), SourceID: node, TargetID: node, RelationType: "feeds"}},
		)
	}
	run := func(decide func(*graphstore.State) (graph.Outcome, error)) int {
		recorder.Statements = nil
		tx := w.begin(t, 64, graphstore.Needs{Workspace: workspace})
		outcome, err := decide(tx.State(workspace))
		require.NoError(t, err)
		require.NoError(t, tx.State(workspace).Record(outcome.Change))
		w.commit(t, tx)
		return len(recorder.Statements)
	}
	run(func(s *graphstore.State) (graph.Outcome, error) { return graph.ApplyBatch(s, batch, s.Next(), at) })
	named := graph.Pick{CommandID: batch.ID}
	for _, p := range []graph.Payload{graph.Undo{Pick: named}, graph.Redo{Pick: named}} {
		c := graph.Command{ID: uuid.New(), Origin: o, Action: graph.Action{Payload: p}}
		statements := run(func(s *graphstore.State) (graph.Outcome, error) { return graph.Apply(s, c, s.Next(), at) })
		require.Less(t, statements, 25, "%s", p.Type())
	}
}
