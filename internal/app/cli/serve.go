package cli

import (
	"context"

	"github.com/livegraph/livegraph/internal/app/cli/target"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/app/serve"
)

// ServeCmd runs the service.
type ServeCmd struct {
	target.Settings `embed:""`
	Demo            bool `help:"Also stream this machine's own metrics, and show them."`
}

// Run serves until ctx is done.
func (c *ServeCmd) Run(ctx context.Context, out *output.Writer, version buildVersion) error {
	return serve.Run(ctx, serve.Options{Config: c.Config, Version: string(version), Demo: c.Demo}, out.Writer)
}
