package embed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/retrieval/openai"
)

// maxWait is the maximum delay between two attempts.
const maxWait = 30 * time.Second

// Options are the options of [NewRemote].
type Options struct {
	URL   string // base, such as https://api.openai.com/v1; no user, no query
	Key   string // sent as a bearer token; empty: none is sent
	Model Model  // the name in the API, and the dimensions of its vectors
	// Prefix is sent before each text, for models that were trained with one for queries and another for passages.
	Prefix string

	// AllowPrivateAddresses permits URLs that resolve to this machine or to a private
	// network. Without it the resolved address of each connection is checked, so that a
	// change of the DNS record cannot redirect it there.
	AllowPrivateAddresses bool

	Batch   int               // maximum of texts in a request
	Timeout time.Duration     // of one request
	Retries int               // attempts after the first
	TLS     *tlsconfig.Client // verifies the server; nil: with the system's certificates
}

// Remote is a client of an OpenAI-compatible API. The caller must close it.
type Remote struct {
	options Options
	client  *openai.Client
}

// NewRemote creates a client, without connecting. The error is an Invalid fault if the URL
// cannot be used.
func NewRemote(o Options) (*Remote, error) {
	client, err := openai.New(openai.Options{
		Name: "the embedder", Setting: "embedder", URL: o.URL, Key: o.Key, AllowPrivateAddresses: o.AllowPrivateAddresses,
		TLS: o.TLS,
	})
	if err != nil {
		return nil, err
	}
	o.Batch = max(o.Batch, 1)
	return &Remote{options: o, client: client}, nil
}

// Close closes idle connections.
func (r *Remote) Close() { r.client.Close() }

// Model returns the model of the vectors.
func (r *Remote) Model() Model { return r.options.Model }

// Embed requests the vectors of the texts, in one batch after the other. A blank text has no
// vector, and is not sent. After a temporary failure Embed retries, at most Retries times
// and until ctx is done.
func (r *Remote) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	vectors := make([]Vector, len(texts))
	var batch []string
	var indexes []int // of the texts in the batch
	for i, text := range texts {
		if text = strings.ToValidUTF8(text, "\uFFFD"); strings.TrimSpace(text) != "" {
			batch, indexes = append(batch, r.options.Prefix+text), append(indexes, i)
		}
		if len(batch) < r.options.Batch && i < len(texts)-1 || len(batch) == 0 {
			continue
		}
		results, err := r.embedWithRetry(ctx, batch)
		if err != nil {
			return nil, err
		}
		for j, v := range results {
			vectors[indexes[j]] = v
		}
		batch, indexes = batch[:0], indexes[:0]
	}
	return vectors, nil
}

// embedWithRetry embeds a batch. It retries until the API answers or refuses, or the number
// of retries is exhausted.
func (r *Remote) embedWithRetry(ctx context.Context, texts []string) ([]Vector, error) {
	retries := openai.Retries{Max: r.options.Retries, MaxWait: maxWait}
	return openai.Retry(ctx, r.client, retries, func() ([]Vector, error) { return r.embedBatch(ctx, texts) })
}

// embedBatch sends one request.
func (r *Remote) embedBatch(ctx context.Context, texts []string) ([]Vector, error) {
	limited, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	request := embeddingRequest{Model: r.options.Model.Name, Input: texts, Format: "float"}
	response, err := r.client.Post(limited, "embeddings", request, "application/json")
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := openai.ReadAtMost(response.Body, maxResponseBytes(len(texts), r.options.Model.Dimensions))
	if errors.Is(err, openai.ErrTooLong) {
		return nil, r.client.InvalidResponse(errors.New("the answer is longer than its vectors can be"))
	} else if err != nil {
		return nil, r.client.RequestFault(ctx, err)
	}
	vectors, err := decodeVectors(body, len(texts), r.options.Model.Dimensions)
	if err != nil {
		return nil, r.client.InvalidResponse(err)
	}
	return vectors, nil
}

// failure returns the error of a request whose own timeout is not that of its caller.
func (r *Remote) failure(ctx context.Context, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	return r.client.RequestFault(ctx, err)
}

// Ping requests the list of models, which is free of charge. An API without such a list is
// available too.
func (r *Remote) Ping(ctx context.Context) error { return r.client.Ping(ctx) }

// String returns the embedder for logs, without its key.
func (r *Remote) String() string { return fmt.Sprintf("%s at %s", r.options.Model, r.client.Address()) }
