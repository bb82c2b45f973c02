package clickhouse

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/pressly/goose/v3"

	"github.com/livegraph/livegraph/schemas"
)

// Migrate brings the schema up to date. Every statement of a migration may run
// twice (IF NOT EXISTS): ClickHouse has no transactions and no lock by which
// processes that start together could take turns.
func (db *DB) Migrate(ctx context.Context) error {
	options := *db.options
	options.MaxOpenConns, options.MaxIdleConns, options.ConnMaxLifetime = 0, 0, 0 // database/sql has its own
	conns := ch.OpenDB(&options)
	defer func() { _ = conns.Close() }()
	files, err := fs.Sub(schemas.ClickHouse, "clickhouse")
	if err != nil {
		return fmt.Errorf("reading ClickHouse migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectClickHouse, conns, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("reading ClickHouse migrations: %w", err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrating ClickHouse: %w", err)
	}
	for _, done := range results {
		slog.InfoContext(ctx, "migrated clickhouse", "migration", done.Source.Path, "duration", done.Duration)
	}
	return nil
}
