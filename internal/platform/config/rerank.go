package config

import "time"

// Bounds of the settings of the reranker.
const (
	maxRerankTimeout    = 30 * time.Second
	maxRerankCandidates = 100
	minRerankText       = 256
	maxRerankText       = 16 << 10
)

// Rerank holds the settings of the reranker, which orders the best results of a search again. Without a URL, results
// are not reranked.
type Rerank struct {
	URL                   string        `help:"Base URL of an API with a reranking model, such as https://api.jina.ai/v1 or http://vllm:8000/v1: results of searches with the field rerank are sent to POST rerank below it, in the format of Cohere, Jina, vLLM, llama.cpp and Infinity. The query and the texts of the results leave the service. Empty: results are not reranked." env:"LIVEGRAPH_RERANK_URL"`
	Key                   Secret        `help:"API key for the URL. Empty: no authentication." env:"LIVEGRAPH_RERANK_KEY"`
	Model                 string        `help:"Model to request from the URL. Required with a URL." env:"LIVEGRAPH_RERANK_MODEL"`
	AllowPrivateAddresses bool          `help:"Allow a URL that leads to this machine or into a private network, and http:// URLs." default:"false" env:"LIVEGRAPH_RERANK_ALLOW_PRIVATE_ADDRESSES"`
	Timeout               time.Duration `help:"Timeout of a request. After it, the results keep their order, and the response reports it." default:"3s" env:"LIVEGRAPH_RERANK_TIMEOUT"`
	MaxCandidates         int           `help:"Maximum number of results that a search may have reranked, at most 100." default:"50" env:"LIVEGRAPH_RERANK_MAX_CANDIDATES"`
	MaxTextBytes          int           `help:"Maximum size of the text of a result in bytes, about four per token. Longer texts are cut off. A text and the query must fit into the context of the model." default:"2048" env:"LIVEGRAPH_RERANK_MAX_TEXT_BYTES"`
	Concurrency           int           `help:"Maximum number of requests of this process at the same time. One workspace may use half of them. Above it, results keep their order after a second, and the response reports it." default:"8" env:"LIVEGRAPH_RERANK_CONCURRENCY"`
	TLS                   EngineTLS     `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_RERANK_TLS_"`
}

// Enabled reports whether a reranker is configured.
func (r *Rerank) Enabled() bool { return r.URL != "" }

func (r *Rerank) validate(invalid func(setting, format string, args ...any)) {
	if r.Timeout < 100*time.Millisecond || r.Timeout > maxRerankTimeout {
		invalid("rerank-timeout", "must be from 100ms to %s", maxRerankTimeout)
	}
	for _, number := range []bounds{
		{"rerank-max-candidates", r.MaxCandidates, 1, maxRerankCandidates},
		{"rerank-max-text-bytes", r.MaxTextBytes, minRerankText, maxRerankText},
		{"rerank-concurrency", r.Concurrency, 1, 1000},
	} {
		number.validate(invalid)
	}
	api := apiAddress{
		setting: "rerank-url", prefix: "rerank", path: "/rerank", otherValues: "neither empty nor",
		address: r.URL, key: r.Key, allowPrivate: r.AllowPrivateAddresses,
	}
	api.validateOptional(r.Model, &r.TLS, invalid)
}
