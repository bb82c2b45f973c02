package cli

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/stores"
	pgstores "github.com/livegraph/livegraph/storage/postgres/stores"
)

// MigrateCmd migrates the stores' schemas to this version. A server does the same when
// it starts; the command allows a separate step in a deployment.
type MigrateCmd struct{ target.Target }

// Run migrates Postgres and ClickHouse.
func (c *MigrateCmd) Run(ctx context.Context, out *output.Writer) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	err := c.WithPostgres(ctx, func(db *pgstores.DB) error { return db.Migrate(ctx) })
	if err != nil {
		return fmt.Errorf("migrating Postgres: %w", err)
	}
	points, err := stores.OpenClickHouse(ctx, c.Config)
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
