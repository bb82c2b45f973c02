package clickhouse

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/pressly/goose/v3"

	"github.com/livegraph/livegraph/internal/platform/migration"
	"github.com/livegraph/livegraph/schemas"
)

// Migrate brings the schema up to date. Every statement of a migration may run twice (IF NOT
// EXISTS), because ClickHouse has no transactions and no lock for processes that start at the
// same time. Migrate returns fault.Invalid if a newer version has created the schema.
func (db *DB) Migrate(ctx context.Context) error { return db.MigrateTo(ctx, migration.Latest) }

// MigrateTo applies the migrations up to a version. A newer schema remains unchanged.
func (db *DB) MigrateTo(ctx context.Context, version int64) error {
	options := *db.options
	options.MaxOpenConns, options.MaxIdleConns, options.ConnMaxLifetime = 0, 0, 0 // those of database/sql apply
	conns := ch.OpenDB(&options)
	defer func() { _ = conns.Close() }()
	provider, err := db.migrations(ctx, conns)
	if err != nil {
		return err
	}
	return migration.Run(ctx, "ClickHouse", provider, version)
}

// migrations returns the migrations for the layout of the database.
func (db *DB) migrations(ctx context.Context, conns *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(schemas.ClickHouse, "clickhouse")
	if err != nil {
		return nil, fmt.Errorf("reading ClickHouse migrations: %w", err)
	}
	schema, err := db.clusterSchema(ctx)
	if err != nil {
		return nil, err
	}
	dialect, options := goose.DialectClickHouse, []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if schema != nil {
		if files, err = schema.files(files); err != nil {
			return nil, err
		}
		store, err := newVersionStore(schema)
		if err != nil {
			return nil, err
		}
		dialect, options = goose.DialectCustom, append(options, goose.WithStore(store))
	}
	provider, err := goose.NewProvider(dialect, conns, files, options...)
	if err != nil {
		return nil, fmt.Errorf("reading ClickHouse migrations: %w", err)
	}
	return provider, nil
}

// SchemaVersion returns the last migration that was applied to the database. It returns an
// error if this version of Livegraph does not know the migration.
func (db *DB) SchemaVersion(ctx context.Context) (version int64, err error) {
	if err := db.conn.QueryRow(
		ctx, "SELECT max(version_id) FROM "+VersionTable+" WHERE is_applied = 1",
	).Scan(&version); err != nil {
		return 0, fmt.Errorf("reading the version of ClickHouse's schema: %w", classifyError(ctx, err))
	}
	return version, migration.CheckVersion("ClickHouse", version, schemas.ClickHouse)
}
