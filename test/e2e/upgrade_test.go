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

// schema is the schema of one store, as migrations see it.
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

// stepBack takes the last migration back, so that the schema is the one of before.
func (s *schema) stepBack() {
	s.t.Helper()
	done, err := s.provider.Down(s.t.Context())
	require.NoError(s.t, err)
	s.t.Logf("%s is as it was before %s", s.store, done.Source.Path)
}

// note writes that a migration was run, or takes that away again.
func (s *schema) note(version int64, there bool) {
	s.t.Helper()
	statement := `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`
	if !there {
		statement = `DELETE FROM goose_db_version WHERE version_id = 9999`
	}
	_, err := s.conns.ExecContext(s.t.Context(), statement)
	require.NoError(s.t, err)
	current, err := s.provider.GetDBVersion(context.WithoutCancel(s.t.Context()))
	require.NoError(s.t, err)
	require.Equal(s.t, there, current == version)
}

// TestAnUpgradeKeepsEverything starts this version on stores with the schemas of before
// their last migrations, full of data, and compares what it tells with what was written.
// A version older than the schema refuses it, in words, and changes nothing.
func TestAnUpgradeKeepsEverything(t *testing.T) {
	t.Parallel()
	postgresURL, clickhouseURL := testenv.Postgres(t), testenv.ClickHouse(t)
	s := newServer(t, "--postgres-url", postgresURL, "--clickhouse-url", clickhouseURL)
	s.Start()
	still := s.furnish()
	load := s.busy()
	load.waitFor(5, 50)
	load.end()
	batches, answers := load.acknowledged()
	before := still.dump(s)
	require.Zero(t, s.Stop())

	stores := []*schema{postgresSchema(t, postgresURL), clickhouseSchema(t, clickhouseURL)}
	for _, store := range stores {
		store.stepBack()
	}
	s.Start()
	delete(before, "uses") // the last migration of ClickHouse made their table
	still.compare(s, before)
	load.requireKept(s, batches, answers)
	still.requireGoesOn(s)
	require.Zero(t, s.Stop())

	for _, store := range stores {
		store.note(9999, true)
		output, code := s.RunServe()
		require.Equal(t, 1, code)
		require.Contains(
			t, output,
			"the schema of "+store.store+" is of a newer version of Livegraph (migration 9999; this version knows those up to ",
		)
		store.note(9999, false)
	}
	s.Start()
	require.Zero(t, s.Stop())
}
