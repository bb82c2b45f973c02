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

// TestTheApplicationOwnsItsDatabaseAndIsNoSuperuser runs the script of the Postgres image on a
// database that an older stack has filled as superuser.
func TestTheApplicationOwnsItsDatabaseAndIsNoSuperuser(t *testing.T) {
	const role = "livegraph_app"
	content := stack(t).Configs["postgres-application"].Content
	require.Contains(t, content, canary("DATABASE_PASSWORD"))
	require.NotContains(t, content, canary("POSTGRES_PASSWORD"))
	// The script uses a different role here, because the role of the tests' own Postgres must keep its
	// password and databases of a server share roles.
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

	address, err := url.Parse(superuser)
	require.NoError(t, err)
	address.User = url.UserPassword("compose_app", canary("DATABASE_PASSWORD"))
	application, err := pgstores.Open(t.Context(), address.String(), 2)
	require.NoError(t, err)
	defer application.Close()
	require.NoError(t, application.Migrate(t.Context()))
	_, err = application.CreateWorkspace(t.Context(), access.Workspace{Name: "plant", Plan: "starter", Mode: "live"})
	require.NoError(t, err)
	var privileges, foreign int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_roles WHERE rolname = 'compose_app'
		AND (rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls)`).Scan(&privileges))
	require.Zero(t, privileges)
	require.NoError(
		t,
		conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace
		AND pg_get_userbyid(relowner) <> 'compose_app'`).Scan(&foreign),
	)
	require.Zero(t, foreign, "all tables are its own")
}
