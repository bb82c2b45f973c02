package cli

import (
	"context"
	"errors"
	"fmt"
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
	DemoFlags `embed:""`
	Workspace *uuid.UUID `help:"Workspace to fill; default: that of first-run.json." env:"LIVEGRAPH_WORKSPACE_ID" placeholder:"ID"`
}

// DemoFlags are the options of the demo.
type DemoFlags struct {
	Interval   time.Duration `help:"Time between two measurements, 100ms to 1h." default:"1s"`
	Duration   time.Duration `help:"End after this time; 0: on Ctrl-C." default:"0s"`
	NoBackfill bool          `help:"Leave out the four years of weather."`
	Plain      bool          `help:"Print lines instead of a view that is redrawn in place."`
}

const (
	shortestDemoInterval = 100 * time.Millisecond
	longestDemoInterval  = time.Hour
)

// Validate checks what tags cannot express.
func (c *DemoCmd) Validate() error {
	if c.Interval < shortestDemoInterval || c.Interval > longestDemoInterval {
		return fmt.Errorf("--interval: must be from %s to %s", shortestDemoInterval, longestDemoInterval)
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
		return demo.Run(ctx, demo.Options{
			Interval: c.Interval, Duration: c.Duration, Backfill: !c.NoBackfill, Plain: c.Plain,
		}, deps)
	})
}
