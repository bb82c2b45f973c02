package replica

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	testLag = 2 * time.Second
	soon    = time.Minute
)

// fixture is a primary, its replica, and a router that runs.
type fixture struct {
	t         *testing.T
	pair      *testenv.PostgresPair
	primary   *pgtest.DB
	replica   *postgres.DB
	router    *Router
	graph     *Graph
	workspace uuid.UUID
	node      uuid.UUID
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, pair: testenv.NewPostgresPair(t), workspace: uuid.New(), node: uuid.New()}
	f.pair.Asynchronous(t)
	f.primary = pgtest.OpenAt(t, f.pair.PrimaryURL())
	f.replica = openReplica(t, f.pair.StandbyURL())
	f.router = New(Options{
		Primary: f.primary.DB.DB, Replica: f.replica, MaxLag: testLag, Logger: slog.Default(), Metrics: NewMetrics(nil),
	})
	f.graph = NewGraph(f.primary.GraphRead, f.router)
	f.exec(`INSERT INTO workspaces (id, name, plan, mode) VALUES ($1, 'w', 'enterprise', 'live')`, f.workspace)
	f.exec(`INSERT INTO graph_heads (workspace_id, sequence) VALUES ($1, 0)`, f.workspace)
	f.exec(`INSERT INTO nodes (workspace_id, id, name, entity_type, properties, created_at, updated_at, version,
		changed_by, created_by, deleted)
		VALUES ($1, $2, '0', 'object', '{}', now(), now(), 1, 1, 1, false)`, f.workspace, f.node)
	testenv.RunInBackground(t, f.router.Run)
	return f
}

func openReplica(t *testing.T, address string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), address, 4, postgres.AsReplica())
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

func (f *fixture) exec(statement string, args ...any) {
	f.t.Helper()
	require.NoError(f.t, f.primary.Exec(f.t.Context(), statement, args...))
}

// rename changes the node, as a command does.
func (f *fixture) rename(name string) {
	f.t.Helper()
	f.exec(`WITH head AS (UPDATE graph_heads SET sequence = sequence + 1 WHERE workspace_id = $1)
		UPDATE nodes SET name = $3 WHERE workspace_id = $1 AND id = $2`, f.workspace, f.node, name)
}

func (f *fixture) name() string {
	f.t.Helper()
	n, err := f.graph.Node(f.t.Context(), f.workspace, f.node)
	require.NoError(f.t, err)
	return n.Name
}

// awaitReason reads until the reads are answered for a reason.
func (f *fixture) awaitReason(target, reason string) {
	f.t.Helper()
	count := func() float64 { return testutil.ToFloat64(f.router.metrics.reads.WithLabelValues(target, reason)) }
	require.Eventually(f.t, func() bool {
		before := count()
		f.name()
		return count() > before
	}, soon, 10*time.Millisecond, "reads are not answered by the %s: %s", target, reason)
}

func TestReadsAreNeverOlderThanCommits(t *testing.T) {
	f := newFixture(t)
	f.awaitReason(targetReplica, reasonCurrent)
	for i := range 300 {
		name := uuid.NewString()
		f.rename(name)
		require.Equal(t, name, f.name(), "read %d", i)
		if i%50 == 0 {
			f.awaitReason(targetReplica, reasonCurrent)
			require.Equal(t, name, f.name())
		}
	}
	f.pair.PauseReplay(t)
	f.rename("paused")
	f.awaitReason(targetPrimary, reasonBehind)
	require.Equal(t, "paused", f.name())
	f.awaitReason(targetPrimary, reasonLag)
	require.Greater(t, testutil.ToFloat64(f.router.metrics.lag), testLag.Seconds())
	require.Equal(t, "paused", f.name())
	f.pair.ResumeReplay(t)
	f.awaitReason(targetReplica, reasonCurrent)
	require.Equal(t, "paused", f.name())
}

func TestOtherWorkspacesAreReadOnTheReplicaWhileOneIsWritten(t *testing.T) {
	f := newFixture(t)
	f.awaitReason(targetReplica, reasonCurrent)
	f.pair.PauseReplay(t)
	f.exec(`INSERT INTO workspaces (id, name, plan, mode) VALUES ($1, 'other', 'enterprise', 'live')`, uuid.New())
	f.awaitReason(targetReplica, reasonCurrent)
	f.rename("written")
	f.awaitReason(targetPrimary, reasonBehind)
}

func TestTheReplicaIsNotUsedWhileItIsDownAndAfterItIsPromoted(t *testing.T) {
	f := newFixture(t)
	f.awaitReason(targetReplica, reasonCurrent)
	require.NoError(t, f.pair.Standby().Stop(t.Context()))
	f.rename("down")
	require.Equal(t, "down", f.name())
	f.awaitReason(targetPrimary, reasonUnavailable)
	require.NoError(t, f.pair.Standby().Start(t.Context()))
	f.awaitReason(targetReplica, reasonCurrent)
	require.Equal(t, "down", f.name())

	f.pair.Promote(t)
	f.rename("promoted")
	require.Equal(t, "promoted", f.name())
	f.awaitReason(targetPrimary, reasonUnavailable)
	_, err := f.replica.Pool().Exec(t.Context(), `UPDATE nodes SET name = 'x'`)
	require.ErrorContains(t, err, "read-only", "the pool never writes")
}

func TestAReadThatFailsOnTheReplicaIsRepeatedOnThePrimary(t *testing.T) {
	f := newFixture(t)
	f.awaitReason(targetReplica, reasonCurrent)
	for name, statement := range map[string]string{
		"conflict with the replay": `DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`,
		"shutdown":                 `DO $$ BEGIN RAISE SQLSTATE '57P01'; END $$`,
		"a lost connection":        `SELECT pg_terminate_backend(pg_backend_pid())`,
		"an older schema":          `SELECT no_such_column FROM nodes`,
	} {
		t.Run(name, func(t *testing.T) {
			f.awaitReason(targetReplica, reasonCurrent)
			calls := 0
			from := func(ctx context.Context, db *graphread.Store) (string, error) {
				if calls++; db == f.router.graph {
					_, err := f.replica.Pool().Exec(ctx, statement)
					return "replica", postgres.Classify(err)
				}
				return "primary", nil
			}
			answer, err := read(t.Context(), f.graph, f.workspace, from)
			require.NoError(t, err)
			require.Equal(t, "primary", answer)
			require.Equal(t, 2, calls)
		})
	}
	t.Run("a refusal is an answer", func(t *testing.T) {
		f.awaitReason(targetReplica, reasonCurrent)
		before := testutil.ToFloat64(f.router.metrics.reads.WithLabelValues(targetReplica, reasonCurrent))
		_, err := f.graph.Node(t.Context(), f.workspace, uuid.New())
		require.True(t, fault.Is(err, fault.NotFound))
		after := testutil.ToFloat64(f.router.metrics.reads.WithLabelValues(targetReplica, reasonCurrent))
		require.Equal(t, before+1, after)
	})
}

func TestReadsInProgressEndWhenTheReplicaHangs(t *testing.T) {
	f := newFixture(t)
	f.awaitReason(targetReplica, reasonCurrent)
	testenv.Pause(t, f.pair.Standby())
	t.Cleanup(func() { testenv.Resume(t, f.pair.Standby()) })
	began := time.Now()
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			n, err := f.graph.Node(context.WithoutCancel(t.Context()), f.workspace, f.node)
			if err != nil || n.Name != "0" {
				t.Errorf("%v %v", n, err)
			}
		})
	}
	clients.Wait()
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestServersThatAreNoReplicaOfThePrimaryAreRefused(t *testing.T) {
	f := newFixture(t)
	for name, c := range map[string]struct {
		address string
		want    error
	}{
		"the primary itself":  {f.pair.PrimaryURL(), errPromoted},
		"another server":      {testenv.Postgres(t), errOther},
		"nobody listens here": {"postgres://u:p@127.0.0.1:1/d?sslmode=disable", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observer{primary: f.primary.DB.DB, replica: openReplica(t, c.address), maxLag: testLag}
			_, err := o.observe(t.Context())
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestConcurrentReadsOfSequences(t *testing.T) {
	f := newFixture(t)
	f.awaitReason(targetReplica, reasonCurrent)
	var clients sync.WaitGroup
	for range 32 {
		clients.Go(func() {
			for range 50 {
				m, err := f.router.heads.read(t.Context(), f.workspace)
				if err != nil || m.lsn == 0 || m.timeline == 0 {
					t.Errorf("%+v %v", m, err)
				}
			}
		})
	}
	clients.Wait()
}
