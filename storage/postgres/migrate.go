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

// How long a process waits for another one that is migrating: tries of a second.
const (
	migrationLockSeconds = 1
	migrationLockTries   = 600
)

// Migrate brings the schema up to date. Processes that start together take
// turns by an advisory lock. its own Connections, without the pool's
// statement timeout: building an index may take its time.
//
// A schema that a newer version made is refused, with fault.Invalid: what that version
// keeps there this one would not keep. So is one into which a restore has not ended.
func (db *DB) Migrate(ctx context.Context) error {
	if err := db.CheckNoRestore(ctx); err != nil {
		return err
	}
	return db.MigrateTo(ctx, migration.Latest)
}

// MigrateTo brings the schema up to a migration; one that is further stays.
func (db *DB) MigrateTo(ctx context.Context, version int64) error {
	cfg := db.pool.Config().ConnConfig.Copy()
	cfg.RuntimeParams["statement_timeout"] = "0"
	cfg.RuntimeParams["lock_timeout"] = "0"
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
	return Classify(migration.To(ctx, "Postgres", provider, version))
}

// RestoreMark is a table that is there while a restore is under way: no server starts
// on a database that has it, and no second restore begins.
const RestoreMark = "livegraph_restore"

// errUnfinishedRestore is for a database that a restore has left as it was.
func errUnfinishedRestore() error {
	return fault.New(
		fault.Invalid, "a restore into this database has begun and not ended: empty all stores, and restore again",
	)
}

// CheckNoRestore refuses a database in which a restore has not ended.
func (db *DB) CheckNoRestore(ctx context.Context) error {
	var under bool
	if err := db.pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, RestoreMark).Scan(&under); err != nil {
		return Classify(fmt.Errorf("looking for a restore: %w", err))
	}
	if under {
		return errUnfinishedRestore()
	}
	return nil
}
