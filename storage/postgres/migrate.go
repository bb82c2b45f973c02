package postgres

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/livegraph/livegraph/internal/platform/migration"
	"github.com/livegraph/livegraph/schemas"
)

// How long a process waits for another one that is migrating: tries of a second.
const (
	migrationLockSeconds = 1
	migrationLockTries   = 600
)

// Migrate brings the schema up to date. Processes that start together take
// turns by an advisory lock. Connections of its own, without the pool's
// statement timeout: building an index may take its time.
//
// A schema that a newer version made is refused, with fault.Invalid: what that version
// keeps there this one would not keep. So is one into which a restore has not ended.
func (db *DB) Migrate(ctx context.Context) error {
	if err := db.checkNoRestore(ctx); err != nil {
		return err
	}
	return db.migrateTo(ctx, migration.Latest)
}

// migrateTo brings the schema up to a migration; one that is further stays.
func (db *DB) migrateTo(ctx context.Context, version int64) error {
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
	return classify(migration.To(ctx, "Postgres", provider, version))
}
