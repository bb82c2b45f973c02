package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Initial and maximum delay between two attempts.
const (
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
)

// Options are the options of [NewRemote].
type Options struct {
	URL   string // base, such as https://api.openai.com/v1; no user, no query
	Key   string // sent as a bearer token; empty: none is sent
	Model Model  // the name in the API, and the dimensions of its vectors

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
	client  *http.Client
	base    *url.URL
}

// NewRemote creates a client, without connecting. The error is an Invalid fault if the URL
// cannot be used.
func NewRemote(o Options) (*Remote, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" ||
		base.Scheme != "http" && base.Scheme != "https" {

		return nil, fault.New(fault.Invalid, "the embedder's URL cannot be used") // without the URL, which may have a secret
	}
	if o.TLS == nil {
		o.TLS = tlsconfig.System()
	}
	o.Batch = max(o.Batch, 1)
	return &Remote{options: o, base: base, client: &http.Client{
		Transport: newTransport(o),
		// Following redirects would send the texts, and possibly the key, to unknown servers.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

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
			batch, indexes = append(batch, text), append(indexes, i)
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
	waits := retry.New(firstWait, maxWait)
	var last *fault.Error // the last error, because backoff wraps errors
	vectors, err := backoff.Retry(ctx, func() ([]Vector, error) {
		vectors, err := r.embedBatch(ctx, texts)
		var failure *fault.Error
		if err == nil {
			return vectors, nil
		} else if !errors.As(err, &failure) {
			return nil, backoff.Permanent(err) // ctx is done
		}
		last = failure
		switch {
		case !isTransient(failure), failure.RetryAfter > maxWait:
			return nil, backoff.Permanent(err)
		case failure.RetryAfter > 0:
			return nil, &backoff.RetryAfterError{Duration: failure.RetryAfter}
		default:
			return nil, err
		}
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(uint(r.options.Retries)+1), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil:
		return vectors, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, context.Cause(ctx)
	case last != nil: // also if ctx expired during a delay: the last failure is more specific
		return nil, last
	case ctx.Err() != nil:
		return nil, fault.Wrap(context.Cause(ctx), fault.Timeout, "the embedder did not answer in time")
	default:
		return nil, err
	}
}

// isTransient reports whether a retry may succeed.
func isTransient(failure *fault.Error) bool {
	return failure.Kind == fault.Unavailable || failure.Kind == fault.Timeout
}

// embedBatch sends one request.
func (r *Remote) embedBatch(ctx context.Context, texts []string) ([]Vector, error) {
	limited, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	request, err := r.request(limited, http.MethodPost, "embeddings", texts)
	if err != nil {
		return nil, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, r.requestFault(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, statusFault(response)
	}
	body, err := readAtMost(response.Body, maxResponseBytes(len(texts), r.options.Model.Dimensions))
	if err != nil {
		if errors.Is(err, errTooLong) {
			return nil, invalidResponse(err)
		}
		return nil, r.requestFault(ctx, err)
	}
	return decodeVectors(body, len(texts), r.options.Model.Dimensions)
}

// requestFault returns the fault of a request without a response. Errors of the HTTP client
// contain the URL, which has no secret.
func (r *Remote) requestFault(ctx context.Context, err error) error {
	var private *privateAddress
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &private):
		return fault.Wrap(err, fault.BadGateway, "the embedder's address is a private one, which is not allowed")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "the embedder did not answer in time")
	default:
		return fault.Wrap(err, fault.Unavailable, "the embedder does not answer")
	}
}

// Ping requests the list of models, which is free of charge. An API without such a list is
// available too.
func (r *Remote) Ping(ctx context.Context) error {
	request, err := r.request(ctx, http.MethodGet, "models", nil)
	if err != nil {
		return err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return r.requestFault(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil
	default:
		return statusFault(response)
	}
}

// String returns the embedder for logs, without its key.
func (r *Remote) String() string {
	return fmt.Sprintf("%s at %s", r.options.Model, r.base.Redacted())
}
