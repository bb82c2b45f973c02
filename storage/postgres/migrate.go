package postgres

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/migration"
	"github.com/livegraph/livegraph/schemas"
)

// migrationLockTries is how often a process tries to get the migration lock while
// another process migrates. Each try lasts migrationLockSeconds.
const (
	migrationLockSeconds = 1
	migrationLockTries   = 600
)

// Migrate runs all migrations. An advisory lock ensures that only one process migrates
// at a time. Migrations have their own connections, without the pool's statement
// timeout, because building an index may take long. See also WithDirectURL.
//
// It returns fault.Invalid if a newer version has written the schema, because this
// version would lose data of that version, and if a restore into the database is not
// complete.
func (db *DB) Migrate(ctx context.Context) error {
	if err := db.CheckNoRestore(ctx); err != nil {
		return err
	}
	return db.MigrateTo(ctx, migration.Latest)
}

// MigrateTo runs the migrations up to version. It leaves a later schema unchanged.
func (db *DB) MigrateTo(ctx context.Context, version int64) error {
	cfg, err := db.migrationConfig()
	if err != nil {
		return err
	}
	conns := stdlib.OpenDB(*cfg)
	defer func() { _ = conns.Close() }()

	files, err := fs.Sub(schemas.Postgres, "postgres")
	if err != nil {
		return fmt.Errorf("reading Postgres migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migrationLockSeconds, migrationLockTries))
	if err != nil {
		return fmt.Errorf("making the migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, conns, files,
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("reading Postgres migrations: %w", err)
	}
	return Classify(migration.Run(ctx, "Postgres", provider, version))
}

// RestoreMarkerTable is the name of a table that exists while a restore runs. While it exists,
// no server starts on the database and no second restore starts.
const RestoreMarkerTable = "livegraph_restore"

// errUnfinishedRestore returns the error for a database into which a restore is not complete.
func errUnfinishedRestore() error {
	return fault.New(
		fault.Invalid, "a restore into this database has begun and not ended: empty all stores, and restore again",
	)
}

// CheckNoRestore returns an error if a restore into the database is not complete.
func (db *DB) CheckNoRestore(ctx context.Context) error {
	var exists bool
	if err := db.pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, RestoreMarkerTable).Scan(&exists); err != nil {
		return Classify(fmt.Errorf("looking for a restore: %w", err))
	}
	if exists {
		return errUnfinishedRestore()
	}
	return nil
}
