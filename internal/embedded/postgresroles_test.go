package embedded_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/storage/postgres/access"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/testenv"
)

// startPostgres starts Postgres on a folder and stops it at the end of the test.
func startPostgres(t *testing.T, dir string) *supervisor.Process {
	t.Helper()
	testenv.RequireEngines(t)
	p, err := embedded.StartPostgres(t.Context(), embedded.PostgresOptions{
		Options: engine.Options{Dir: dir}, Settings: map[string]string{"fsync": "off"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Stop(t.Context()) })
	return p
}

func connectTo(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// superuser returns the URL of a database for the superuser of the Postgres in a folder.
func superuser(t *testing.T, dir, database string) string {
	t.Helper()
	address, err := embedded.PostgresSuperuser(dir)
	require.NoError(t, err)
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.Path = "/" + database
	return u.String()
}

// requireNoSuperuser checks that the application owns its database and has no privileges outside
// of it.
func requireNoSuperuser(t *testing.T, address string) {
	t.Helper()
	conn := connectTo(t, address)
	var privileged, owns bool
	require.NoError(
		t,
		conn.QueryRow(t.Context(), `SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls,
		EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND datdba = r.oid)
		FROM pg_roles r WHERE rolname = current_user`).Scan(&privileged, &owns),
	)
	require.False(t, privileged, "it has privileges that its role does not need")
	require.True(t, owns)
	var roles int
	require.NoError(
		t,
		conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_auth_members WHERE member = current_user::regrole`).Scan(&roles),
	)
	require.Zero(t, roles, "it is not a member of another role")
	for _, refused := range []string{
		`COPY (SELECT 1) TO PROGRAM 'true'`, `SELECT pg_read_file('PG_VERSION')`, `ALTER SYSTEM SET log_statement = 'all'`,
		`CREATE DATABASE another`, `CREATE ROLE another`, `ALTER ROLE CURRENT_USER SUPERUSER`,
		`CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc', 'abs'`,
		`SELECT rolpassword FROM pg_authid`, `SET ROLE livegraph`,
	} {
		_, err := conn.Exec(t.Context(), refused)
		var pgErr *pgconn.PgError
		require.ErrorAs(t, err, &pgErr, refused)
		require.Equal(t, "42501", pgErr.Code, "%s: %v", refused, err)
	}
}

func TestTheApplicationIsNoSuperuserInPostgres(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "postgres")
	p := startPostgres(t, dir)
	requireNoSuperuser(t, p.Address())
	before := p.Address()
	db, err := pgstores.Open(t.Context(), p.Address(), 2)
	require.NoError(t, err)
	require.NoError(t, db.Migrate(t.Context()), "which makes an extension")
	db.Close()
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, p.Start(t.Context()))
	require.Equal(t, before, p.Address())
	requireNoSuperuser(t, p.Address())
}

// TestWhatTheStarterFindsInPostgresIsPutRight checks that a start corrects a role that was given
// more privileges or another password.
func TestWhatTheStarterFindsInPostgresIsPutRight(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "postgres")
	p := startPostgres(t, dir)
	for _, change := range []string{
		`ALTER ROLE livegraph_app SUPERUSER`, `ALTER ROLE livegraph_app CREATEROLE`, `ALTER ROLE livegraph_app NOLOGIN`,
		`ALTER ROLE livegraph_app PASSWORD 'another'`, `ALTER DATABASE livegraph OWNER TO livegraph`,
		`CREATE TABLE made_by_an_earlier_version ()`,
	} {
		_, err := connectTo(t, superuser(t, dir, "livegraph")).Exec(t.Context(), change)
		require.NoError(t, err)
		require.NoError(t, p.Stop(t.Context()))
		require.NoError(t, p.Start(t.Context()), change)
		requireNoSuperuser(t, p.Address())
		require.Empty(t, ownedBy(t, connectTo(t, p.Address()), "livegraph"), change)
	}
}

// recreateOldDatabase recreates the database as in earlier versions, which used the superuser, and
// returns the names of its objects.
func recreateOldDatabase(t *testing.T, dir string) []string {
	t.Helper()
	_, err := connectTo(t, superuser(t, dir, "postgres")).Exec(t.Context(), `DROP DATABASE livegraph WITH (FORCE)`)
	require.NoError(t, err)
	for _, statement := range []string{`DROP ROLE livegraph_app`, `CREATE DATABASE livegraph`} {
		_, err := connectTo(t, superuser(t, dir, "postgres")).Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	db, err := pgstores.Open(t.Context(), superuser(t, dir, "livegraph"), 2)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Migrate(t.Context()))
	_, err = db.CreateWorkspace(t.Context(), access.Workspace{Name: "kept", Plan: "enterprise", Mode: "live"})
	require.NoError(t, err)
	conn := connectTo(t, superuser(t, dir, "livegraph"))
	// Objects that future migrations might create.
	_, err = conn.Exec(
		t.Context(),
		`CREATE SCHEMA "odd schema"; CREATE TYPE "odd schema"."a'kind" AS ENUM ('a');
		CREATE DOMAIN few AS int; CREATE TYPE pair AS (a int, b int);
		CREATE TYPE span AS RANGE (subtype = int); CREATE TABLE "odd schema"."Odd" (a serial,
		b int GENERATED ALWAYS AS IDENTITY, c "odd schema"."a'kind");
		CREATE TABLE parts (a int) PARTITION BY LIST (a); CREATE TABLE part PARTITION OF parts FOR VALUES IN (1);
		CREATE VIEW seen AS SELECT 1 AS one; CREATE MATERIALIZED VIEW stored AS SELECT 1 AS one;
		CREATE STATISTICS "odd schema".both ON a, b
		FROM "odd schema"."Odd"; CREATE PROCEDURE done() LANGUAGE sql AS 'SELECT 1';
		CREATE AGGREGATE total(int) (sfunc = int4pl, stype = int)`,
	)
	require.NoError(t, err)
	text, err := json.Marshal(func() map[string]any {
		endpoint := endpointOf(t, dir)
		require.NotEmpty(t, endpoint["applicationPassword"])
		delete(endpoint, "applicationPassword")
		return endpoint
	}())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "endpoint.json"), text, 0o600))
	return ownedBy(t, conn, "livegraph")
}

// ownedBy lists the objects of a database that a role owns, except for those of Postgres and of
// extensions.
func ownedBy(t *testing.T, conn *pgx.Conn, role string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `WITH mine AS (SELECT oid FROM pg_roles WHERE rolname = $1), found AS (
			SELECT 'pg_class'::regclass AS of, oid, relnamespace AS space, 'class ' || oid::regclass AS name FROM pg_class
			WHERE relowner IN (TABLE mine)
			UNION ALL SELECT 'pg_proc'::regclass, oid, pronamespace, 'routine ' || oid::regprocedure FROM pg_proc
			WHERE proowner IN (TABLE mine)
			UNION ALL SELECT 'pg_type'::regclass, oid, typnamespace, 'type ' || oid::regtype FROM pg_type
			WHERE typowner IN (TABLE mine)
			UNION ALL SELECT 'pg_namespace'::regclass, oid, oid, 'schema ' || oid::regnamespace FROM pg_namespace
			WHERE nspowner IN (TABLE mine)
			UNION ALL SELECT 'pg_statistic_ext'::regclass, oid, stxnamespace, 'statistics ' || stxname FROM pg_statistic_ext
			WHERE stxowner IN (TABLE mine))
		SELECT name FROM found JOIN pg_namespace n ON n.oid = space
		WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema'
		AND (of, found.oid) NOT IN (SELECT classid, objid FROM pg_depend WHERE deptype = 'e')
		ORDER BY 1`, role)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

// TestADatabaseOfTheSuperuserIsTransferredToTheApplication checks a database of an earlier version, which
// used the superuser, so that the superuser owns its objects.
func TestADatabaseOfTheSuperuserIsTransferredToTheApplication(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "postgres")
	p := startPostgres(t, dir)
	before := recreateOldDatabase(t, dir)
	require.Greater(t, len(before), 100)
	require.NoError(t, p.Stop(t.Context()))

	for range 2 {
		p = startPostgres(t, dir)
		requireNoSuperuser(t, p.Address())
		conn := connectTo(t, p.Address())
		require.Equal(t, before, ownedBy(t, conn, "livegraph_app"), "all that there was")
		require.Empty(t, ownedBy(t, conn, "livegraph"))
		db, err := pgstores.Open(t.Context(), p.Address(), 2)
		require.NoError(t, err)
		require.NoError(t, db.Migrate(t.Context()))
		workspaces, err := db.WorkspaceIDs(t.Context(), nil, 10)
		require.NoError(t, err)
		require.Len(t, workspaces, 1)
		db.Close()
		_, err = conn.Exec(
			t.Context(), `ALTER TABLE workspaces ADD COLUMN later int; ALTER TABLE workspaces DROP COLUMN later`,
		)
		require.NoError(t, err, "as a migration would")
		require.NoError(t, p.Stop(t.Context()))
	}
}
