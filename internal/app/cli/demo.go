package cli

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/demo"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// DemoCmd streams this machine's own metrics into a running server.
type DemoCmd struct {
	target.Target
	demo.Options `embed:""`

	Workspace *uuid.UUID `help:"Workspace to fill; default: that of first-run.json." env:"LIVEGRAPH_WORKSPACE_ID" placeholder:"ID"`
}

// Validate checks what tags cannot express.
func (c *DemoCmd) Validate() error {
	if c.Interval < 100*time.Millisecond || c.Interval > time.Hour {
		return errors.New("--interval: must be from 100ms to 1h")
	}
	if c.Duration < 0 {
		return errors.New("--duration: must not be negative")
	}
	return nil
}

// Run fills the workspace until the duration is over or ctx ends.
func (c *DemoCmd) Run(ctx context.Context, out *output.Writer) error {
	server, err := c.FindServer("")
	if err != nil {
		return err
	}
	workspace, err := c.WorkspaceOrFirst(c.Workspace)
	if err != nil {
		return err
	}
	return c.WithPostgres(ctx, func(db *stores.DB) error {
		deps, err := demo.OpenDeps(db, c.DataDir, workspace, server, out)
		if err != nil {
			return err
		}
		return demo.Run(ctx, c.Options, deps)
	})
}
