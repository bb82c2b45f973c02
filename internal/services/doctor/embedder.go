package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

const embedderVariable = "LIVEGRAPH_EMBEDDER"

var embedderTLS = tlsconfig.Settings{
	Address: embedderVariable, CA: "LIVEGRAPH_EMBEDDER_TLS_CA",
	Pair: "LIVEGRAPH_EMBEDDER_TLS_CERT and LIVEGRAPH_EMBEDDER_TLS_KEY", ServerName: "LIVEGRAPH_EMBEDDER_TLS_SERVER_NAME",
}

// checkEmbedder embeds a word, because only that verifies key, model and dimensions.
func checkEmbedder(ctx context.Context, t Target) []Result {
	cfg := t.Embedder
	switch {
	case cfg.Static():
		return []Result{{Name: "embedder", Status: OK, Detail: embed.NewStatic().Model().String() + ", inside the binary"}}
	case !cfg.Remote():
		return nil
	}
	files, err := cfg.TLS.Client("embedder-tls")
	if err != nil {
		return failed("embedder", cfg.Address, err, filesAdvice)
	}
	e, err := embed.NewRemote(embed.Options{
		URL: cfg.Address, Key: cfg.Key.Reveal(), Model: embed.Model{Name: cfg.Model, Dimensions: cfg.Dimensions},
		AllowPrivateAddresses: cfg.AllowPrivateAddresses, Batch: 1, Timeout: checkTimeout, TLS: files,
	})
	if err != nil {
		return failed("embedder", cfg.Address, err, "correct "+embedderVariable)
	}
	defer e.Close()
	r := Result{Name: "embedder", Status: OK, Address: cfg.Address, Detail: e.Model().String()}
	r.LatencyMS, err = medianLatency(func() error {
		_, err := e.Embed(ctx, []string{"livegraph"})
		return err
	})
	if err != nil {
		return failed("embedder", cfg.Address, err, embedderAdvice(cfg, err))
	}
	return []Result{r}
}

// embedderAdvice returns the advice for an error.
func embedderAdvice(cfg config.Embedder, err error) string {
	if advice := embedderTLS.Advice(err); advice != "" {
		return advice
	}
	var failure *fault.Error
	if errors.As(err, &failure) && (failure.Kind == fault.BadGateway || failure.Kind == fault.Invalid) {
		return fmt.Sprintf(
			"correct %[1]s, %[1]s_KEY, %[1]s_MODEL or %[1]s_DIMENSIONS: the line above says which one", embedderVariable,
		)
	}
	return reachAdvice(embedderVariable, embedderLog(cfg))
}

// embedderLog returns the log of the embedded embedder with the model of the settings.
func embedderLog(cfg config.Embedder) string {
	if m, ok := config.FindEmbeddedModel(cfg.Model); ok && m != config.EmbeddedModels[0] {
		return logFile("embedder-" + m.Name)
	}
	return logFile("embedder")
}
