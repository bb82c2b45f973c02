package doctor_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestAReplicaOfPostgresIsChecked(t *testing.T) {
	pair := testenv.NewPostgresPair(t)
	pair.Asynchronous(t)
	check := func(replica string) doctor.Result {
		target := doctor.Target{
			PostgresURL: pair.PrimaryURL(),
			Postgres:    config.Postgres{Replica: config.PostgresReplica{URL: config.Secret(replica)}},
		}
		return byName(t, doctor.Check(t.Context(), target))["postgres replica"]
	}
	require.Empty(t, check("").Name, "without a replica there is no finding")
	current := check(pair.StandbyURL())
	require.Equal(t, doctor.OK, current.Status, current.Detail)
	for name, c := range map[string]struct{ replica, want string }{
		"the primary":    {pair.PrimaryURL(), "not in recovery"},
		"another server": {testenv.Postgres(t), "another database"},
		"no server":      {"postgres://u:s3cret@127.0.0.1:1/d?sslmode=disable", "is not used"},
	} {
		found := check(c.replica)
		require.Equal(t, doctor.Warning, found.Status, name)
		require.Contains(t, found.Detail, c.want, name)
		require.NotContains(t, found.Detail+found.Address, "s3cret")
	}
	pair.PauseReplay(t)
	conn, err := pgx.Connect(t.Context(), pair.PrimaryURL())
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), `CREATE TABLE written (x int)`)
	require.NoError(t, err)
	lagging := check(pair.StandbyURL())
	require.Equal(t, doctor.Warning, lagging.Status)
	require.Contains(t, lagging.Detail, "lags more than")
}

func TestAPoolerInTransactionModeIsNoticed(t *testing.T) {
	testenv.RequireFull(t)
	direct := testenv.Postgres(t)
	target := doctor.Target{PostgresURL: testenv.PgBouncer(t, direct)}
	found := byName(t, doctor.Check(t.Context(), target))["postgres"]
	require.Equal(t, doctor.Warning, found.Status)
	require.Contains(t, found.Advice, "LIVEGRAPH_POSTGRES_DIRECT_URL")

	target.Postgres.DirectURL = config.Secret(direct)
	found = byName(t, doctor.Check(t.Context(), target))["postgres"]
	require.NotContains(t, found.Advice, "LIVEGRAPH_POSTGRES_DIRECT_URL")
	require.Contains(t, found.Advice, "statement_timeout", "the role has none")

	target.Postgres.DirectURL = "postgres://u:s3cret@127.0.0.1:1/d?sslmode=disable"
	found = byName(t, doctor.Check(t.Context(), target))["postgres"]
	require.Contains(t, found.Detail, "LIVEGRAPH_POSTGRES_DIRECT_URL cannot be used")
	require.NotContains(t, found.Detail, "s3cret")

	target = doctor.Target{PostgresURL: direct}
	found = byName(t, doctor.Check(t.Context(), target))["postgres"]
	require.NotContains(t, found.Detail, "pooler", "Postgres itself is no pooler")
}
