package e2e

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"testing"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/testenv"
)

// schema is the schema of one store, with its migrations.
type schema struct {
	t        *testing.T
	store    string
	conns    *sql.DB
	provider *goose.Provider
}

func postgresSchema(t *testing.T, address string) *schema {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	return openSchema(t, "Postgres", stdlib.OpenDB(*config), goose.DialectPostgres, schemas.Postgres, "postgres")
}

func clickhouseSchema(t *testing.T, address string) *schema {
	t.Helper()
	options, err := clickhouse.Driver(address, nil)
	require.NoError(t, err)
	options.MaxOpenConns, options.MaxIdleConns, options.ConnMaxLifetime = 0, 0, 0 // database/sql has its own
	return openSchema(t, "ClickHouse", ch.OpenDB(options), goose.DialectClickHouse, schemas.ClickHouse, "clickhouse")
}

func openSchema(
	t *testing.T, store string, conns *sql.DB, dialect goose.Dialect, files embed.FS, folder string,
) *schema {
	t.Helper()
	t.Cleanup(func() { _ = conns.Close() })
	sub, err := fs.Sub(files, folder)
	require.NoError(t, err)
	provider, err := goose.NewProvider(dialect, conns, sub, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	return &schema{t: t, store: store, conns: conns, provider: provider}
}

// migrateDown reverts the last migration.
func (s *schema) migrateDown() {
	s.t.Helper()
	done, err := s.provider.Down(s.t.Context())
	require.NoError(s.t, err)
	s.t.Logf("%s is as it was before %s", s.store, done.Source.Path)
}

// setNewerMigration records or removes a migration of a newer version.
func (s *schema) setNewerMigration(version int64, applied bool) {
	s.t.Helper()
	statement := `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`
	if !applied {
		statement = `DELETE FROM goose_db_version WHERE version_id = 9999`
	}
	_, err := s.conns.ExecContext(s.t.Context(), statement)
	require.NoError(s.t, err)
	current, err := s.provider.GetDBVersion(context.WithoutCancel(s.t.Context()))
	require.NoError(s.t, err)
	require.Equal(s.t, applied, current == version)
}

// TestAnUpgradeKeepsEverything starts this version on stores with data and the schemas before their
// last migrations, and compares what it returns with what was written. A version older than the schema
// refuses to start, says why, and changes nothing.
func TestAnUpgradeKeepsEverything(t *testing.T) {
	t.Parallel()
	postgresURL, clickhouseURL := testenv.Postgres(t), testenv.ClickHouse(t)
	s := newServer(t, "--postgres-url", postgresURL, "--clickhouse-url", clickhouseURL)
	s.Start()
	idle := s.newIdleWorkspace()
	load := s.startMixedLoad()
	load.waitFor(5, 50)
	load.end()
	batches, answers := load.acknowledged()
	before := idle.dump(s)
	require.Zero(t, s.Stop())

	stores := []*schema{postgresSchema(t, postgresURL), clickhouseSchema(t, clickhouseURL)}
	for _, store := range stores {
		store.migrateDown()
	}
	s.Start()
	delete(before, "uses") // the last ClickHouse migration created their table
	idle.compare(s, before)
	load.requireKept(s, batches, answers)
	idle.requireUsable(s)
	require.Zero(t, s.Stop())

	for _, store := range stores {
		store.setNewerMigration(9999, true)
		output, code := s.RunServe()
		require.Equal(t, 1, code)
		require.Contains(
			t, output,
			"the schema of "+store.store+" is of a newer version of Livegraph (migration 9999; this version knows those up to ",
		)
		store.setNewerMigration(9999, false)
	}
	s.Start()
	require.Zero(t, s.Stop())
}
