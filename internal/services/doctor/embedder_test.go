package doctor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/testenv"
)

// checkEmbedder checks only an embedder. It reports whether there is a result.
func checkEmbedder(t *testing.T, cfg config.Embedder) (doctor.Result, bool) {
	t.Helper()
	r, found := byName(t, doctor.Check(t.Context(), doctor.Target{Embedder: cfg}))["embedder"]
	return r, found
}

func TestTheEmbedderIsAskedForAVector(t *testing.T) {
	var cfg config.Embedder
	cfg.UseEmbedded(testenv.Embedder(t), config.EmbeddedModels[0])
	cfg.Timeout = time.Second
	r, _ := checkEmbedder(t, cfg)
	require.Equal(t, doctor.OK, r.Status, r.Detail)
	require.Equal(t, "all-MiniLM-L6-v2 (384 dimensions)", r.Detail)
	require.Equal(t, cfg.Address, r.Address)
	require.Positive(t, r.LatencyMS)

	for name, c := range map[string]struct {
		change         func(*config.Embedder)
		detail, advice string
	}{
		"wrong key": {change: func(e *config.Embedder) {
			e.Key = "s3cret"
		}, detail: "refuses our key", advice: "LIVEGRAPH_EMBEDDER_KEY"},
		"wrong model": {change: func(e *config.Embedder) {
			e.Model = "m"
		}, detail: "no such model", advice: "LIVEGRAPH_EMBEDDER_MODEL"},
		"wrong dimensions": {change: func(e *config.Embedder) {
			e.Dimensions = 3
		}, detail: "384 dimensions, not 3", advice: "LIVEGRAPH_EMBEDDER_DIMENSIONS"},
		"nobody there": {change: func(e *config.Embedder) {
			e.Address = "http://127.0.0.1:1/v1"
		}, detail: "does not answer", advice: "logs/embedder.log"},
		"nobody there, of another model": {change: func(e *config.Embedder) {
			e.Address, e.Model = "http://127.0.0.1:1/v1", "multilingual-e5-small"
		}, detail: "does not answer", advice: "logs/embedder-multilingual-e5-small.log"},
		"private": {change: func(e *config.Embedder) {
			e.AllowPrivateAddresses = false
		}, detail: "not a public address", advice: "LIVEGRAPH_EMBEDDER"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := cfg
			c.change(&wrong)
			r, _ := checkEmbedder(t, wrong)
			require.Equal(t, doctor.Failed, r.Status)
			require.Contains(t, r.Detail, c.detail)
			require.Contains(t, r.Advice, c.advice)
			require.NotContains(t, r.Detail+r.Advice+r.Address, "s3cret")
			require.NotContains(t, r.Detail+r.Advice+r.Address, cfg.Key.Reveal())
		})
	}
}

func TestTheModelInsideTheBinaryIsReportedAndNoEmbedderIsNoFinding(t *testing.T) {
	r, _ := checkEmbedder(t, config.Embedder{Address: config.EmbedderStatic})
	require.Equal(t, doctor.OK, r.Status)
	require.Contains(t, r.Detail, "minilm-static-256 (256 dimensions)")
	_, found := checkEmbedder(t, config.Embedder{})
	require.False(t, found)
}
