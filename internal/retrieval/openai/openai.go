// Package openai sends requests to servers with an OpenAI-compatible API: the embedder and the chat model. It decides
// where requests may go, which failures are temporary, and which part of an error may be logged. The callers define the
// requests and read the responses.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// firstWait is the initial delay between two attempts.
const firstWait = 500 * time.Millisecond

// Retries bounds the attempts after the first.
type Retries struct {
	Max     int
	MaxWait time.Duration // between two attempts; a server that requires a longer one is not tried again
}

// Options are the options of [New].
type Options struct {
	Name    string // of the server in errors, such as "the embedder"
	Setting string // prefix of its settings, such as embedder

	URL string // base, such as https://api.openai.com/v1; no user, no query
	Key string // sent as a bearer token; empty: none is sent

	// AllowPrivateAddresses permits URLs that resolve to this machine or to a private
	// network. Without it the resolved address of each connection is checked, so that a
	// change of the DNS record cannot redirect it there.
	AllowPrivateAddresses bool

	TLS *tlsconfig.Client // verifies the server; nil: with the system's certificates
}

// Client sends requests to one server. The caller must close it. It is safe for concurrent use.
type Client struct {
	options Options
	client  *http.Client
	base    *url.URL
}

// New creates a client, without connecting. The error is an Invalid fault if the URL cannot be used.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" ||
		base.Scheme != "http" && base.Scheme != "https" {

		return nil, fault.New(fault.Invalid, o.Name+"'s URL cannot be used") // without the URL, which may have a secret
	}
	if o.TLS == nil {
		o.TLS = tlsconfig.System()
	}
	return &Client{options: o, base: base, client: &http.Client{
		Transport: newTransport(o),
		// Following redirects would send the texts, and possibly the key, to unknown servers.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Address returns the URL for logs, without a password.
func (c *Client) Address() string { return c.base.Redacted() }

// Post sends a body as JSON to a path below the URL, and returns a response with status 200, whose body the caller
// closes. accept is the accepted content type. Its errors are faults, or the cause of ctx.
func (c *Client) Post(ctx context.Context, path string, body any, accept string) (*http.Response, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("writing a request for %s: %w", c.options.Name, err)
	}
	response, err := c.send(ctx, http.MethodPost, path, bytes.NewReader(raw), accept)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return nil, c.statusFault(response)
	}
	return response, nil
}

// Ping requests the list of models, which is free of charge. An API without such a list is available too.
func (c *Client) Ping(ctx context.Context) error {
	response, err := c.send(ctx, http.MethodGet, "models", nil, "application/json")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil
	default:
		return c.statusFault(response)
	}
}

func (c *Client) send(ctx context.Context, method, path string, body io.Reader, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path).String(), body)
	if err != nil {
		return nil, fmt.Errorf("writing a request for %s: %w", c.options.Name, err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "livegraph")
	if c.options.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.options.Key)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, c.RequestFault(ctx, err)
	}
	return response, nil
}

// Retry calls attempt until it succeeds, its error is not temporary, or the retries are exhausted. It waits between two
// attempts, as long as the server requires or longer each time, and until ctx is done.
func Retry[T any](ctx context.Context, c *Client, retries Retries, attempt func() (T, error)) (T, error) {
	waits := retry.New(firstWait, retries.MaxWait)
	var last *fault.Error // the last error, because backoff wraps errors
	result, err := backoff.Retry(ctx, func() (T, error) {
		result, err := attempt()
		var failure *fault.Error
		if err == nil {
			return result, nil
		} else if !errors.As(err, &failure) {
			return result, backoff.Permanent(err) // ctx is done
		}
		last = failure
		switch {
		case !isTransient(failure), failure.RetryAfter > retries.MaxWait:
			return result, backoff.Permanent(err)
		case failure.RetryAfter > 0:
			return result, &backoff.RetryAfterError{Duration: failure.RetryAfter}
		default:
			return result, err
		}
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(uint(retries.Max)+1), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil:
		return result, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return result, context.Cause(ctx)
	case last != nil: // also if ctx expired during a delay: the last failure is more specific
		return result, last
	case ctx.Err() != nil:
		return result, fault.Wrap(context.Cause(ctx), fault.Timeout, c.options.Name+" did not answer in time")
	default:
		return result, err
	}
}

// isTransient reports whether a retry may succeed.
func isTransient(failure *fault.Error) bool {
	return failure.Kind == fault.Unavailable || failure.Kind == fault.Timeout
}
