package cli

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
)

// EnginesCmd sets up the embedded engines.
type EnginesCmd struct {
	Install EnginesInstallCmd `cmd:"" help:"Install the engines' packages now instead of at the first start."`
}

// EnginesInstallCmd installs the packages of the embedded engines.
type EnginesInstallCmd struct{}

// Run installs what is missing and shows progress.
func (c *EnginesInstallCmd) Run(ctx context.Context, out *output.Writer) error {
	progress := output.NewEngineProgress(out, output.IsTerminal(out.Writer))
	for _, installer := range []engine.Installer{embedded.Install, embedded.InstallEmbedder} {
		if _, err := installer(ctx, progress.Show); err != nil {
			return fmt.Errorf("setting up the engines: %w", err)
		}
	}
	return nil
}
