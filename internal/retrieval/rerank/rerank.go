// Package rerank requests scores of texts for a query from a reranking model, such as a cross-encoder, behind the API
// that Cohere, Jina, vLLM, llama.cpp and Infinity share: POST rerank. Everything that such a server may send is
// validated, and bounded in size and time.
package rerank

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/retrieval/openai"
)

const (
	// maxResponseBase and maxResponseFactor bound a response: some servers repeat the texts, with other escapes.
	maxResponseBase   = 256 << 10
	maxResponseFactor = 8
)

// Options are the options of [New].
type Options struct {
	URL   string // base, such as https://api.jina.ai/v1; no user, no query
	Key   string // sent as a bearer token; empty: none is sent
	Model string // the name in the API

	AllowPrivateAddresses bool // see openai.Options

	Timeout     time.Duration     // of a request
	Concurrency int               // maximum of requests at the same time; one workspace has half of them
	TLS         *tlsconfig.Client // verifies the server; nil: with the system's certificates
}

// Client is a client of a reranker, with a circuit breaker. The caller must close it. It is safe for concurrent use.
type Client struct {
	options Options
	client  *openai.Client
	gate    *openai.Gate
}

// New creates a client, without connecting. The error is an Invalid fault if the URL cannot be used.
func New(o Options) (*Client, error) {
	const name = "the reranker"
	client, err := openai.New(openai.Options{
		Name: name, Setting: "rerank", URL: o.URL, Key: o.Key, AllowPrivateAddresses: o.AllowPrivateAddresses, TLS: o.TLS,
	})
	if err != nil {
		return nil, err
	}
	return &Client{options: o, client: client, gate: openai.NewGate(name, o.Concurrency)}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.client.Close() }

// Model returns the name of the model.
func (c *Client) Model() string { return c.options.Model }

// String returns the model for logs, without the key.
func (c *Client) String() string { return fmt.Sprintf("%s at %s", c.options.Model, c.client.Address()) }

// Rerank requests the scores of texts for a query of a workspace. The scores are in the order of the texts; a text with
// a higher one is more relevant. It does not retry: a search waits for it. Its errors are faults, or the cause of ctx.
func (c *Client) Rerank(ctx context.Context, workspace uuid.UUID, query string, texts []string) ([]float64, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	release, err := c.gate.Enter(ctx, workspace)
	if err != nil {
		return nil, err
	}
	defer release()
	limited, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	scores, err := c.send(limited, query, texts)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) { // the caller cancelled: not a failure of the reranker
		return nil, context.Cause(ctx)
	}
	if err := c.gate.Record(limited, err); err != nil {
		return nil, err
	}
	return scores, nil
}

// rerankRequest is a request of the API. All scores are requested.
type rerankRequest struct {
	Model     string   `json:"model"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	TopN      int      `json:"top_n"`
}

// send sends a request and reads its response.
func (c *Client) send(ctx context.Context, query string, texts []string) ([]float64, error) {
	request := rerankRequest{Model: c.options.Model, Query: valid(query), TopN: len(texts)}
	size := len(request.Query)
	for _, text := range texts {
		text = valid(text)
		request.Documents = append(request.Documents, text)
		size += len(text)
	}
	response, err := c.client.Post(ctx, "rerank", request, "application/json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := openai.ReadAtMost(response.Body, maxResponseBase+int64(size)*maxResponseFactor)
	if errors.Is(err, openai.ErrTooLong) {
		return nil, c.client.InvalidResponse(err)
	} else if err != nil {
		return nil, c.client.RequestFault(ctx, err)
	}
	scores, err := decodeScores(body, len(texts))
	if err != nil {
		return nil, c.client.InvalidResponse(err)
	}
	return scores, nil
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// decodeScores returns the scores of a response in the order of the texts. Each text must have one. Errors do not quote
// the response, which may have texts.
func decodeScores(body []byte, texts int) ([]float64, error) {
	var response struct {
		Results []struct {
			Index *int     `json:"index"`
			Score *float64 `json:"relevance_score"`
		} `json:"results"`
	}
	err := json.Unmarshal(body, &response, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, errors.New("the answer is not what the rerank API answers")
	}
	if len(response.Results) != texts {
		return nil, fmt.Errorf("the answer has %d scores for %d texts", len(response.Results), texts)
	}
	scores, seen := make([]float64, texts), make([]bool, texts)
	for _, r := range response.Results {
		switch {
		case r.Index == nil || r.Score == nil:
			return nil, errors.New("a result of the answer has no index or no relevance_score")
		case *r.Index < 0 || *r.Index >= texts:
			return nil, fmt.Errorf("the answer has the index %d for %d texts", *r.Index, texts)
		case seen[*r.Index]:
			return nil, fmt.Errorf("the answer has the index %d twice", *r.Index)
		case math.IsNaN(*r.Score) || math.IsInf(*r.Score, 0):
			return nil, errors.New("a score of the answer is not a finite number")
		}
		scores[*r.Index], seen[*r.Index] = *r.Score, true
	}
	return scores, nil
}
