package doctor

import (
	"context"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/retrieval/rerank"
)

const rerankVariable = "LIVEGRAPH_RERANK_URL"

var rerankTLS = tlsconfig.Settings{
	Address: rerankVariable, CA: "LIVEGRAPH_RERANK_TLS_CA",
	Pair:       "LIVEGRAPH_RERANK_TLS_CERT and LIVEGRAPH_RERANK_TLS_KEY",
	ServerName: "LIVEGRAPH_RERANK_TLS_SERVER_NAME",
}

// checkRerank requests the scores of two words, because only that verifies key and model.
func checkRerank(ctx context.Context, t Target) []Result {
	cfg := t.Rerank
	if !cfg.Enabled() {
		return nil
	}
	const name = "reranker"
	files, err := cfg.TLS.Client("rerank-tls")
	if err != nil {
		return failed(name, cfg.URL, err, filesAdvice)
	}
	client, err := rerank.New(rerank.Options{
		URL: cfg.URL, Key: cfg.Key.Reveal(), Model: cfg.Model, AllowPrivateAddresses: cfg.AllowPrivateAddresses,
		Timeout: checkTimeout, Concurrency: 1, TLS: files,
	})
	if err != nil {
		return failed(name, cfg.URL, err, "correct "+rerankVariable)
	}
	defer client.Close()
	if _, err := client.Rerank(ctx, uuid.Nil, "ready", []string{"ready", "steady"}); err != nil {
		return failed(name, cfg.URL, err, rerankAdvice(err))
	}
	return []Result{{Name: name, Status: OK, Address: cfg.URL, Detail: cfg.Model}}
}

// rerankAdvice returns the advice for an error.
func rerankAdvice(err error) string {
	return modelAdvice(err, rerankTLS, "LIVEGRAPH_RERANK_KEY or LIVEGRAPH_RERANK_MODEL", "results are not reranked")
}
