package cli

import (
	"context"
	"fmt"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/platform/config"
)

// EnginesCmd sets up the embedded engines.
type EnginesCmd struct {
	Install EnginesInstallCmd `cmd:"" help:"Install the engines' packages now instead of at the first start."`
}

// EnginesInstallCmd installs the packages of the embedded engines, and those of the model of --embedder.
type EnginesInstallCmd struct{}

// Run installs what is missing and shows progress.
func (c *EnginesInstallCmd) Run(ctx context.Context, out *output.Writer, cfg *config.Config) error {
	progress := output.NewEngineProgress(out, output.IsTerminal(out.Writer))
	installers := []engine.Installer{embedded.Install, embedded.InstallEmbedder}
	if model, ok := cfg.Embedder.Embedded(); ok && model.Name != embedded.EmbedderModel {
		installer, _ := embedded.EmbedderInstaller(model.Name)
		installers = append(installers, installer)
	}
	for _, installer := range installers {
		if _, err := installer(ctx, progress.Show); err != nil {
			return fmt.Errorf("setting up the engines: %w", err)
		}
	}
	return nil
}
