package compose

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/testenv"
)

// TestTheApplicationOwnsItsDatabaseAndIsNoSuperuser runs what the image of Postgres runs when
// it makes the database, on one that an older stack has filled as its superuser.
func TestTheApplicationOwnsItsDatabaseAndIsNoSuperuser(t *testing.T) {
	const role = "livegraph_app"
	content := stack(t).Configs["postgres-application"].Content
	require.Contains(t, content, canary("DATABASE_PASSWORD"))
	require.NotContains(t, content, canary("POSTGRES_PASSWORD"))
	// The role of the tests' own Postgres keeps its password: databases of a server share roles.
	script := strings.ReplaceAll(content, role, "compose_app")

	superuser := testenv.PostgresAsSuperuser(t)
	db, err := pgstores.Open(t.Context(), superuser, 2)
	require.NoError(t, err)
	require.NoError(t, db.Migrate(t.Context()))
	db.Close()
	conn, err := pgx.Connect(t.Context(), superuser)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	for range 2 {
		_, err = conn.Exec(t.Context(), script)
		require.NoError(t, err)
	}

	at, err := url.Parse(superuser)
	require.NoError(t, err)
	at.User = url.UserPassword("compose_app", canary("DATABASE_PASSWORD"))
	own, err := pgstores.Open(t.Context(), at.String(), 2)
	require.NoError(t, err)
	defer own.Close()
	require.NoError(t, own.Migrate(t.Context()))
	_, err = own.CreateWorkspace(t.Context(), access.Workspace{Name: "plant", Plan: "starter", Mode: "live"})
	require.NoError(t, err)
	var may, foreign int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_roles WHERE rolname = 'compose_app'
		AND (rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls)`).Scan(&may))
	require.Zero(t, may)
	require.NoError(
		t,
		conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace
		AND pg_get_userbyid(relowner) <> 'compose_app'`).Scan(&foreign),
	)
	require.Zero(t, foreign, "all tables are its own")
}
