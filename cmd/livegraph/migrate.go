package main

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/internal/config"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres"
)

// MigrateCmd brings the stores' schemas up to this version. A server does the
// same when it starts; this is for who wants it as a step of its own.
type MigrateCmd struct{ target }

// Run migrates Postgres and ClickHouse.
func (c *MigrateCmd) Run(ctx context.Context, out *output) error {
	if err := c.resolve(); err != nil {
		return err
	}
	err := c.withPostgres(ctx, func(db *postgres.DB) error { return db.Migrate(ctx) })
	if err != nil {
		return fmt.Errorf("migrating Postgres: %w", err)
	}
	points, err := openClickHouse(ctx, &c.Config)
	if err != nil {
		return fmt.Errorf("migrating ClickHouse: %w", err)
	}
	defer func() { _ = points.Close() }()
	if err := points.Migrate(ctx); err != nil {
		return fmt.Errorf("migrating ClickHouse: %w", err)
	}
	_, err = fmt.Fprintln(out, "Postgres and ClickHouse are up to date.")
	return err
}

// openClickHouse connects to the ClickHouse of the settings.
func openClickHouse(ctx context.Context, cfg *config.Config, more ...clickhouse.Option) (*clickhouse.DB, error) {
	files, err := cfg.ClickHouse.TLS.Client("clickhouse-tls")
	if err != nil {
		return nil, err
	}
	return clickhouse.Open(ctx, cfg.ClickHouse.URL.Reveal(), append(more, clickhouse.Verified(files))...)
}
