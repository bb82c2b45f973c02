package maintenance_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/maintenance"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/test/testenv"
)

// queryPostgres returns the only value of a query in Postgres, as text.
func (w *fixture) queryPostgres(statement string) (text string) {
	w.tb.Helper()
	conn, err := pgx.Connect(context.Background(), w.postgresURL)
	require.NoError(w.tb, err)
	defer func() { _ = conn.Close(context.Background()) }()
	require.NoError(w.tb, conn.QueryRow(context.Background(), statement).Scan(&text))
	return text
}

// deletedNode creates a node that was deleted the given time before the fixture's now.
func (w *fixture) deletedNode(workspace uuid.UUID, sequence int, ago time.Duration) uuid.UUID {
	w.tb.Helper()
	id := uuid.New()
	w.execPostgres(fmt.Sprintf(`
		INSERT INTO nodes (workspace_id, id, name, entity_type, created_at, updated_at, version, changed_by, created_by,
		deleted, deleted_by)
			VALUES ('%[1]s', '%[2]s', 'Quintus', 'actor', now(), now(), 2, %[3]d, 1, true, %[3]d);
		INSERT INTO journal (workspace_id, sequence, command_id, at, change)
		VALUES ('%[1]s', %[3]d, gen_random_uuid(), '%[4]s', '');
		INSERT INTO journal_nodes VALUES ('%[1]s', '%[2]s', %[3]d)`, workspace, id, sequence, w.now.Add(-ago).Format(
		time.RFC3339,
	)))
	return id
}

func (w *fixture) nodeContents(node uuid.UUID) string {
	return w.queryPostgres(fmt.Sprintf(`SELECT name || ' ' || purge FROM nodes WHERE id = '%s'`, node))
}

func TestNodesThatWereDeletedLongAgoArePurged(t *testing.T) {
	w := newFixture(t)
	workspace := w.createWorkspace(0)
	w.execPostgres(fmt.Sprintf(`INSERT INTO graph_heads (workspace_id, sequence) VALUES ('%s', 3)`, workspace))
	old, young, asked := w.deletedNode(workspace, 1, 49*time.Hour), w.deletedNode(workspace, 2, 47*time.Hour),
		w.deletedNode(workspace, 3, time.Minute)
	_, err := w.registry.RequestPurge(t.Context(), graphstore.GraphNodeID{Workspace: workspace, Node: asked})
	require.NoError(t, err)
	purged := graphrecord.PurgedName + " 2"

	stop := w.run(w.newRunner(func(d *maintenance.Deps) {
		d.Config.GraphEvery, d.Config.PurgeEvery = 20*time.Millisecond, 20*time.Millisecond
	}))
	require.Eventually(t, func() bool { return w.nodeContents(asked) == purged }, testenv.WaitTimeout, 20*time.Millisecond)
	time.Sleep(200 * time.Millisecond)
	stop()
	require.Equal(t, "Quintus 0", w.nodeContents(old), "by default they are kept permanently")

	w.run(w.newRunner(func(d *maintenance.Deps) {
		d.Config.GraphEvery, d.Config.PurgeEvery = 20*time.Millisecond, 20*time.Millisecond
		d.Config.DeletedNodesFor = 48 * time.Hour
	}))
	require.Eventually(t, func() bool { return w.nodeContents(old) == purged }, testenv.WaitTimeout, 20*time.Millisecond)
	require.Equal(t, "Quintus 0", w.nodeContents(young))
}

func TestUndoEntriesThatNobodyCanReachAreRemoved(t *testing.T) {
	w := newFixture(t)
	long, short := w.createWorkspace(0), w.createWorkspace(0)
	for workspace, commands := range map[uuid.UUID]int{long: 5_000, short: 900} {
		w.execPostgres(fmt.Sprintf(`INSERT INTO graph_heads (workspace_id, sequence) VALUES ('%[1]s', %[2]d);
			INSERT INTO undo_entries (workspace_id, sequence, command_id, actor_id, type)
				SELECT '%[1]s', n, gen_random_uuid(), '%[1]s', 'CREATE_NODE' FROM generate_series(1, %[2]d) n`,
			workspace, commands))
	}
	left := func(workspace uuid.UUID) string {
		return w.queryPostgres(fmt.Sprintf(
			`SELECT count(*) || ' from ' || min(sequence) FROM undo_entries WHERE workspace_id = '%s'`, workspace,
		))
	}
	w.run(w.newRunner(func(d *maintenance.Deps) { d.Config.GraphEvery = 20 * time.Millisecond }))
	require.Eventually(t, func() bool { return left(long) == "1000 from 4001" }, testenv.WaitTimeout, 20*time.Millisecond)
	require.Equal(t, "900 from 1", left(short))
}

func TestRecordsThatAreOldAreRemovedFromTheLogOnceTheyAreRead(t *testing.T) {
	w := newFixture(t)
	workspace := w.createWorkspace(0)
	source := w.createSource(workspace, 0)
	for range 5 {
		w.producePoints(workspace, source, 1)
	}
	starts := func() (sum int64) {
		state, err := w.log.Observe(t.Context())
		require.NoError(t, err)
		for _, s := range state.State {
			sum += s.Start
		}
		return sum
	}
	w.now = time.Now().Add(time.Hour)
	trims := func(d *maintenance.Deps) { d.Config.TrimEvery, d.Config.LogFor = 20*time.Millisecond, time.Minute }
	stop := w.run(w.newRunner(trims))
	time.Sleep(300 * time.Millisecond)
	require.Zero(t, starts(), "nobody has read them")
	stop()
	w.consume()
	stop = w.run(w.newRunner(func(d *maintenance.Deps) { d.Config.TrimEvery = 20 * time.Millisecond }))
	time.Sleep(300 * time.Millisecond)
	require.Zero(t, starts(), "they are kept for as long as there is room")
	stop()
	w.run(w.newRunner(trims))
	for until := time.Now().Add(testenv.WaitTimeout); starts() == 0; time.Sleep(50 * time.Millisecond) {
		require.Less(t, time.Now(), until, "nothing is removed")
	}
}
