package graphstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// newGroupNodes returns n actions that each create a node.
func newGroupNodes(n int) []graph.Action {
	actions := make([]graph.Action, n)
	for i := range actions {
		actions[i].Payload = graph.CreateNode{
			ID: uuid.Must(uuid.NewV7()), Name: fmt.Sprint("pump ", i), EntityType: graph.Object,
			Properties: []byte(`{"serial":12,"site":"north"}`),
		}
	}
	return actions
}

// BenchmarkGraphGroups commits groups of commands that create nodes. As baselines it writes
// the same rows without deciding commands, in one transaction with COPY and in one transaction
// for each command.
func BenchmarkGraphGroups(b *testing.B) {
	for _, c := range []struct {
		name  string
		size  int
		batch bool
	}{{"single/256", 256, false}, {"single/1000", 1000, false}, {"batch/1000", 1000, true}} {
		b.Run("decided/"+c.name, func(b *testing.B) {
			w := newGraphFixture(b)
			workspace := w.workspace(b)
			benchGroups(b, c.size, func(actions []graph.Action) { w.group(b, workspace, actions, c.batch) })
		})
		b.Run("direct/"+c.name, func(b *testing.B) {
			w := newGraphFixture(b)
			workspace := w.workspace(b)
			benchGroups(b, c.size, func(actions []graph.Action) { w.direct(b, workspace, actions, c.batch) })
		})
	}
	b.Run("direct/one", func(b *testing.B) {
		w := newGraphFixture(b)
		workspace := w.workspace(b)
		benchGroups(b, 1, func(actions []graph.Action) { w.direct(b, workspace, actions, false) })
	})
}

func benchGroups(b *testing.B, size int, group func([]graph.Action)) {
	b.Helper()
	for range 3 { // so that plans are cached
		group(newGroupNodes(size))
	}
	b.ResetTimer()
	began := time.Now()
	for done := 0; done < b.N; done += size {
		b.StopTimer()
		actions := newGroupNodes(size)
		b.StartTimer()
		group(actions)
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "commands/s")
}

// group decides and commits the actions as one group.
func (w *graphFixture) group(b testing.TB, workspace uuid.UUID, actions []graph.Action, batch bool) {
	origin := graph.Origin{Actor: graphID(3, 1), Scopes: []string{"admin"}, RequestID: "req_1"}
	needs := graphstore.Needs{Workspace: workspace, Actors: []uuid.UUID{origin.Actor}}
	ids := make([]uuid.UUID, len(actions))
	for i := range actions {
		ids[i] = uuid.Must(uuid.NewV7())
		needs.Nodes = append(needs.Nodes, actions[i].Payload.(graph.CreateNode).ID)
	}
	if needs.Records = ids; batch {
		needs.Records = ids[:1]
	}
	tx := w.begin(b, 64, needs)
	state := tx.State(workspace)
	answer := make([]byte, 200)
	if batch {
		done, err := graph.ApplyBatch(
			state, graph.Batch{ID: ids[0], Origin: origin, Actions: actions}, state.Next(), time.Now(),
		)
		require.NoError(b, err)
		require.NoError(b, state.Record(done.Change))
		tx.AddOutcome(workspace, ids[0], origin.Actor, make([]byte, 100*len(actions)))
	} else {
		for i := range actions {
			done, err := graph.Apply(
				state, graph.Command{ID: ids[i], Origin: origin, Action: actions[i]}, state.Next(), time.Now(),
			)
			require.NoError(b, err)
			require.NoError(b, state.Record(done.Change))
			tx.AddOutcome(workspace, ids[i], origin.Actor, answer)
		}
	}
	w.commit(b, tx)
}

// direct writes the rows of such a group with COPY.
func (w *graphFixture) direct(b testing.TB, workspace uuid.UUID, actions []graph.Action, batch bool) {
	ctx := context.Background()
	tx, err := w.conn.Begin(ctx)
	require.NoError(b, err)
	now := time.Now()
	first := w.nextOffset + 1
	sequence := func(i int) int64 {
		if batch {
			return first
		}
		return first + int64(i)
	}
	var nodes, journal, touched, entries, outcomes [][]any
	actor := graphID(3, 1)
	var steps []graph.Step
	entry := func(i int, steps []graph.Step) {
		id := uuid.Must(uuid.NewV7())
		change := &graph.Change{
			Sequence: graph.Sequence(sequence(i)), CommandID: id, Actor: actor, Type: graph.TypeBatch, At: now, Steps: steps,
		}
		encoded, err := graphrecord.EncodeChange(change)
		require.NoError(b, err)
		journal = append(journal, []any{workspace, sequence(i), id, now, encoded})
		entries = append(entries, []any{workspace, sequence(i), id, actor, "BATCH", int64(0)})
		outcomes = append(outcomes, []any{workspace, id, actor, make([]byte, 200*len(steps))})
	}
	for i, a := range actions {
		n := a.Payload.(graph.CreateNode)
		nodes = append(nodes, []any{
			workspace, n.ID, n.Name, string(n.EntityType), string(n.Properties), now, now, int64(1), sequence(i), sequence(i),
		})
		touched = append(touched, []any{workspace, n.ID, sequence(i)})
		p, err := graph.ParseProperties(n.Properties)
		require.NoError(b, err)
		steps = append(steps, graph.Step{Type: graph.TypeCreateNode, Node: &graph.Node{
			ID: n.ID, Name: n.Name, EntityType: n.EntityType, Properties: p,
		}})
		if !batch {
			entry(i, steps[i:])
		}
	}
	if batch {
		entry(0, steps)
	}
	for _, t := range []struct {
		name    string
		columns []string
		rows    [][]any
	}{
		{
			"nodes",
			[]string{
				"workspace_id", "id", "name", "entity_type", "properties", "created_at", "updated_at", "version", "changed_by",
				"created_by",
			},
			nodes,
		},
		{"journal", []string{"workspace_id", "sequence", "command_id", "at", "change"}, journal},
		{"journal_nodes", []string{"workspace_id", "node_id", "sequence"}, touched},
		{"undo_entries", []string{"workspace_id", "sequence", "command_id", "actor_id", "type", "cancelled_by"}, entries},
		{"command_outcomes", []string{"workspace_id", "command_id", "actor_id", "outcome"}, outcomes},
	} {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromRows(t.rows))
		require.NoError(b, err)
	}
	require.NoError(b, tx.Commit(ctx))
	w.nextOffset = sequence(len(actions) - 1)
}
