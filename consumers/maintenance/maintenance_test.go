package maintenance_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/consumers/maintenance"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestOldPointsAreRemovedAndOthersStay(t *testing.T) {
	w := newFixture(t)
	limited, free := w.createWorkspace(30), w.createWorkspace(0)
	month, week, long, ever, own := w.createSource(limited, 0), w.createSource(limited, 7), w.createSource(limited, 365),
		w.createSource(free, 0), w.createSource(free, 1)
	for workspace, sources := range map[uuid.UUID][]uuid.UUID{limited: {month, week, long}, free: {ever, own}} {
		for _, s := range sources {
			w.producePoints(workspace, s, 400, 31, 30, 8, 7, 2, 0)
		}
	}
	w.producePoints(limited, week, 20) // a series whose newest point is old, too
	w.consume()
	untouched := w.dump(free)
	stop := w.run(w.newRunner())
	want := map[uuid.UUID]string{
		month: "0l 0l 0n 0s 2n 2s 30n 30s 7n 7s 8n 8s", week: "0l 0l 0n 0s 2n 2s 7n 7s",
		long: "0l 0l 0n 0s 2n 2s 30n 30s 7n 7s 8n 8s",
		own:  "0l 0l 0n 0s",
		ever: "0l 0l 0n 0s 2n 2s 30n 30s 31n 31s 400n 400s 7n 7s 8n 8s",
	}
	for source, ages := range want {
		require.Eventually(
			t, func() bool { return w.storedAges(source) == ages }, testenv.WaitTimeout, 50*time.Millisecond, ages,
		)
	}
	require.NotEqual(t, untouched, w.dump(free))
	stop()
	for source, ages := range want {
		require.Equal(t, ages, w.storedAges(source), "no more than that is removed")
	}

	// All points with a retention are old by then, and their rows of table latest are removed, too.
	w.now = now.AddDate(0, 0, 40)
	w.run(w.newRunner())
	for _, source := range []uuid.UUID{month, week, long, own} {
		require.Eventually(t, func() bool { return w.storedAges(source) == "" }, testenv.WaitTimeout, 50*time.Millisecond)
	}
	require.Equal(t, want[ever], w.storedAges(ever))
}

func TestWhereAllIsOldWholePartsAreDropped(t *testing.T) {
	testenv.RequireOneServer(t)
	w := newFixture(t)
	workspace := w.createWorkspace(60)
	source := w.createSource(workspace, 0)
	w.producePoints(workspace, source, 200, 130, 70, 1)
	w.consume()
	stop := w.run(w.newRunner())
	require.Eventually(
		t, func() bool { return w.storedAges(source) == "1l 1l 1n 1s" }, testenv.WaitTimeout, 50*time.Millisecond,
	)
	require.Equal(t, "0", w.query(
		"SELECT count() FROM system.parts WHERE database = currentDatabase() AND active AND table = 'points' AND "+
			"partition_id < '202609'",
	))
	// Rows in the month of the cut-off are removed one by one. A pass whose lease ends early is repeated.
	require.Equal(t, "1", w.query(
		"SELECT uniqExact(command) FROM system.mutations WHERE database = currentDatabase() AND table = 'points' AND "+
			"command LIKE '%_row_exists%'",
	))
	stop()

	// A source without retention prevents it.
	free := w.createWorkspace(0)
	forever := w.createSource(free, 0)
	w.producePoints(free, forever, 300)
	w.producePoints(workspace, source, 301)
	w.consume()
	w.run(w.newRunner())
	require.Eventually(
		t, func() bool { return w.storedAges(source) == "1l 1l 1n 1s" }, testenv.WaitTimeout, 50*time.Millisecond,
	)
	require.Equal(t, "300l 300l 300n 300s", w.storedAges(forever))
}

func TestTheDiskSpaceOfDeletedRowsIsFreedWhereTheyAreMost(t *testing.T) {
	testenv.RequireOneServer(t)
	w := newFixture(t)
	workspace := w.createWorkspace(0)
	short, ever := w.createSource(workspace, 1), w.createSource(workspace, 0)
	w.producePoints(workspace, short, 400, 401, 402, 403)
	w.producePoints(workspace, ever, 400)
	w.consume()
	w.run(w.newRunner())
	rows := "SELECT sum(rows) FROM system.parts WHERE database = currentDatabase() AND active AND table = 'points'"
	require.Eventually(t, func() bool { return w.query(rows) == "1" }, testenv.WaitTimeout, 50*time.Millisecond)
	require.Equal(t, "400l 400l 400n 400s", w.storedAges(ever))
}

func TestADeletedWorkspaceIsRemovedFromAllStoresAndAnotherIsUntouched(t *testing.T) {
	w := newFixture(t)
	gone, stays := w.createWorkspace(0), w.createWorkspace(0)
	for _, workspace := range []uuid.UUID{gone, stays} {
		for range 3 {
			w.producePoints(workspace, w.createSource(workspace, 0), 3, 2, 1)
		}
		require.NoError(t, w.redis.SaveStacks(t.Context(), []redis.StackUpdate{
			{Workspace: workspace, Head: 1, Actors: map[uuid.UUID][]byte{uuid.New(): {1}}},
		}))
		_, err := w.registry.ClaimIdempotencyKey(t.Context(), access.IdempotencyClaim{
			IdempotencyKey: access.IdempotencyKey{Workspace: workspace, Actor: uuid.New(), Route: "/x", Key: "k"},
			ReservedID:     uuid.New(), ReceivedAt: now,
		}, time.Minute)
		require.NoError(t, err)
	}
	w.consume()
	kept := w.dump(stays)
	require.NoError(t, w.registry.DeleteWorkspace(t.Context(), gone, "req_test"))
	stop := w.run(w.newRunner(func(d *maintenance.Deps) { d.Config.SweepAfter = time.Hour }))
	d := w.awaitDeletion(gone, func(d jobs.WorkspaceDeletion) bool { return d.RemovedAt != nil })
	require.Nil(t, d.FinishedAt)
	var names []string
	for _, p := range d.Progress {
		names = append(names, p.Store)
		require.True(t, p.Done)
		require.Zero(t, p.Left)
		require.Positive(t, p.Found, p.Store)
	}
	require.Equal(t, []string{"log", "clickhouse", "redis", "postgres"}, names)
	require.Equal(t, "0", w.query("SELECT count() FROM latest WHERE workspace = '"+gone.String()+"'"))
	stop()

	// A write that was in flight is stored afterwards.
	require.NoError(t, w.redis.SaveStacks(t.Context(), []redis.StackUpdate{
		{Workspace: gone, Head: 1, Actors: map[uuid.UUID][]byte{uuid.New(): {1}}},
	}))
	w.run(w.newRunner(func(d *maintenance.Deps) { d.Config.Now = time.Now }))
	w.awaitDeletion(gone, func(d jobs.WorkspaceDeletion) bool { return d.FinishedAt != nil })
	require.Equal(t, " 0 rows, 0 keys", w.dump(gone), "in the end not even the series are known")
	require.Equal(t, kept, w.dump(stays))

	require.NoError(t, w.registry.DeleteWorkspace(t.Context(), gone, "req_again"), "to ask again changes nothing")
	_, err := w.registry.CreateWorkspace(t.Context(), access.Workspace{
		ID: gone, Name: "again", Plan: "pro", Mode: "live",
	})
	require.Error(t, err, "its id is never used again")

	marks, err := w.log.Observe(t.Context())
	require.NoError(t, err)
	for p, s := range marks.State {
		require.Positive(t, s.End, "partition %d is told", p)
	}
	w.consume() // as a group that starts again: no rows are restored
	require.Equal(t, kept, w.dump(stays))
	require.Equal(t, " 0 rows, 0 keys", w.dump(gone))
}

func (w *fixture) awaitDeletion(
	workspace uuid.UUID, until func(jobs.WorkspaceDeletion) bool,
) (d jobs.WorkspaceDeletion) {
	w.tb.Helper()
	require.Eventually(w.tb, func() bool {
		var err error
		d, err = w.registry.WorkspaceDeletion(context.Background(), workspace)
		require.NoError(w.tb, err)
		return until(d)
	}, testenv.WaitTimeout, 10*time.Millisecond)
	return d
}

// broken is a store that fails while fails is set.
type broken struct{ fails atomic.Bool }

func (b *broken) WorkspaceRows(context.Context, uuid.UUID) (int64, error) { return 1, nil }

func (b *broken) EraseWorkspace(_ context.Context, _ uuid.UUID, removed func(int64) error) error {
	if b.fails.Load() {
		return errors.New("the store is away")
	}
	return removed(1)
}

func TestADeletionReportsThatItWaitsForAnUnavailableStore(t *testing.T) {
	w := newFixture(t)
	workspace := w.createWorkspace(0)
	w.producePoints(workspace, w.createSource(workspace, 0), 1)
	w.consume()
	away := &broken{}
	away.fails.Store(true)
	w.run(w.newRunner(func(d *maintenance.Deps) {
		d.Stores = []maintenance.Store{d.Stores[0], {Name: "away", Eraser: away}, d.Stores[2]}
	}))
	require.NoError(t, w.registry.DeleteWorkspace(t.Context(), workspace, "req_test"))
	d := w.awaitDeletion(workspace, func(d jobs.WorkspaceDeletion) bool { return d.Problem != nil })
	require.Contains(t, *d.Problem, "the store is away")
	require.True(t, d.Progress[1].Done, "what is done is done")
	require.False(t, d.Progress[3].Done)
	away.fails.Store(false)
	d = w.awaitDeletion(workspace, func(d jobs.WorkspaceDeletion) bool { return d.RemovedAt != nil })
	require.Nil(t, d.Problem)
}

func TestOneOfManyDoesTheWorkAndAnotherTakesOverWhenItDies(t *testing.T) {
	w := newFixture(t)
	a, b := uuid.New(), uuid.New()
	take := func(holder uuid.UUID, hold time.Duration) bool {
		taken, err := w.registry.AcquireLease(t.Context(), "work", holder, hold)
		require.NoError(t, err)
		return taken
	}
	require.True(t, take(a, time.Hour))
	require.True(t, take(a, 300*time.Millisecond), "to take it again is to renew it")
	require.False(t, take(b, time.Hour))
	require.Eventually(
		t, func() bool { return take(b, time.Hour) }, testenv.WaitTimeout, 20*time.Millisecond, "it runs out",
	)
	require.False(t, take(a, time.Hour))
	require.NoError(t, w.registry.ReleaseLease(t.Context(), "work", a), "not one's own")
	require.False(t, take(a, time.Hour))
	require.NoError(t, w.registry.ReleaseLease(t.Context(), "work", b))
	require.True(t, take(a, time.Hour))
}

func TestTombstonesAreForgottenWhenTheLogHasOutlivedThem(t *testing.T) {
	w := newFixture(t)
	workspace := w.createWorkspace(0)
	source := w.createSource(workspace, 0)
	w.producePoints(workspace, source, 1)
	w.consume()
	require.NoError(t, w.registry.AddTombstones(t.Context(), []registry.Tombstone{
		{RecordVersion: 1, Workspace: workspace, Source: source, Ceiling: 1},
	}))
	known := func() int {
		found, _, err := w.registry.SourceTombstones(t.Context(), []registry.SourceMinVersion{
			{SourceID: registry.SourceID{Workspace: workspace, Source: source}},
		})
		require.NoError(t, err)
		return len(found)
	}
	stop := w.run(w.newRunner())
	require.Eventually(t, func() bool {
		marks, err := w.registry.LogMarks(t.Context())
		require.NoError(t, err)
		return len(marks) > 3
	}, testenv.WaitTimeout, 20*time.Millisecond)
	stop()
	require.Equal(t, 1, known(), "all of the log is there")

	state, err := w.log.Observe(t.Context())
	require.NoError(t, err)
	for p, s := range state.State {
		if s.End > 0 {
			w.broker.Trim(t, w.broker.Prefix+"points", int32(p), s.End)
		}
	}
	// A current tombstone is within the margin; one of four days ago is not.
	stop = w.run(w.newRunner())
	require.Eventually(t, func() bool {
		state, err := w.registry.ConsumerState(t.Context(), "points", 0)
		require.NoError(t, err)
		return !state.Horizon.IsZero()
	}, testenv.WaitTimeout, 20*time.Millisecond)
	stop()
	require.Equal(t, 1, known())
	w.execPostgres("UPDATE tombstones SET created_at = created_at - interval '4 days'")
	w.run(w.newRunner())
	require.Eventually(t, func() bool { return known() == 0 }, testenv.WaitTimeout, 20*time.Millisecond)
}
