// Package client is the client of the public HTTP API of a Livegraph server that the commands
// and the demo use: sources, ingest and queries, the graph and its commands. Requests, retries
// and keys are those of the SDK for Go. This package adds the types that suit the commands, and
// reads JSON without loss of numbers.
//
// A call that fails for a transient reason (429, 500, 502, 503, 504, no connection) is
// retried with exponential backoff from one second to thirty and jitter, or after exactly
// the time of Retry-After. That is safe for every call of the package: reads change
// nothing, a source's name is unique, a point with the same timestamp is overwritten, and
// commands have an Idempotency-Key.
//
// Errors are *fault.Error of the kind that corresponds to the status of the answer. If the
// server cannot be reached, the kind is fault.Unavailable.
package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
	livegraph "github.com/livegraph/livegraph/sdk/go"
)

// attemptTimeout bounds one attempt, including the wait for a checkpoint.
const attemptTimeout = 20 * time.Second

// Options are the options of a client.
type Options struct {
	BaseURL   string // https://host:port, without /api
	Workspace string // UUID, sent as x-workspace-id
	UserAgent string
	HTTP      *http.Client // default: a new one
	Retry     Retry
	// NewKey creates the key, and another one if the server refuses it, because it expired or was revoked. The call
	// is then repeated. nil: the key is that of SetKey.
	NewKey func(ctx context.Context) (string, error)
}

// Retry is the retry policy of calls.
type Retry struct {
	First time.Duration // the first wait, which doubles with each attempt; default 1 s
	Max   time.Duration // the maximum wait without Retry-After; default 30 s
	// Total bounds the time of all attempts; 0: until the context ends. A Retry-After beyond
	// it ends the attempts at once.
	Total time.Duration
	// OnWait is called before each wait with its reason and duration. May be nil.
	OnWait func(err error, wait time.Duration)
}

func (r Retry) policy() livegraph.Retry {
	policy := livegraph.Retry{First: r.First, Max: r.Max, Total: cmp.Or(r.Total, livegraph.Unlimited)}
	if r.OnWait != nil {
		policy.OnWait = func(request *livegraph.Request, err error, wait time.Duration) {
			r.OnWait(toFault(request.Method, request.Path, err), wait)
		}
	}
	return policy
}

// Client is a client of one workspace of a server. It is safe for concurrent use.
type Client struct {
	api   *livegraph.Client
	retry Retry
}

// New creates a client. Without NewKey it has no key until SetKey is called.
func New(o Options) (*Client, error) {
	if o.HTTP == nil {
		// Unlike the default client of the SDK, it follows redirects.
		o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	options := []livegraph.Option{
		livegraph.WithWorkspace(o.Workspace), livegraph.WithRetry(o.Retry.policy()), livegraph.WithTimeout(attemptTimeout),
		livegraph.WithHTTPClient(o.HTTP),
	}
	if o.UserAgent != "" {
		options = append(options, livegraph.WithUserAgent(o.UserAgent))
	}
	if o.NewKey != nil {
		options = append(options, livegraph.WithKeySource(o.NewKey))
	}
	api, err := livegraph.New(o.BaseURL, "", options...)
	if err != nil {
		return nil, fmt.Errorf("the server's address %q is not an http or https URL", o.BaseURL)
	}
	return &Client{api, o.Retry}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.api.CloseIdleConnections() }

// SetKey sets the key of all later calls.
func (c *Client) SetKey(text string) error { return c.api.SetKey(text) }

// RetryUntil returns a client that shares the key of c and whose calls give up after total.
func (c *Client) RetryUntil(total time.Duration) *Client {
	retry := c.retry
	retry.Total = total
	return c.WithRetry(retry)
}

// WithRetry returns a client that shares the key of c and uses another retry policy.
func (c *Client) WithRetry(retry Retry) *Client {
	return &Client{c.api.WithRetry(retry.policy()), retry}
}

// call is one request of the API.
type call struct {
	method       string
	path         string
	query        url.Values
	body         []byte // nil for none
	media        string // of the body; default: JSON
	uncompressed bool   // do not compress the body
	// idempotencyKey is the Idempotency-Key of a command, the same for each attempt; "" for
	// other calls.
	idempotencyKey string
	// waitTimeout bounds an attempt; 0: attemptTimeout.
	waitTimeout time.Duration
}

func (r *call) request() *livegraph.Request {
	request := &livegraph.Request{
		Method: r.method, Path: r.path, Query: r.query, Body: r.body, Uncompressed: r.uncompressed, Timeout: r.waitTimeout,
		Header: http.Header{},
	}
	if r.body != nil {
		request.Header.Set("Content-Type", cmp.Or(r.media, "application/json"))
	}
	if r.idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", r.idempotencyKey)
		request.Header.Set("Prefer", "wait="+commandWaitSeconds)
	}
	return request
}

// envelope is the envelope of every answer of success.
type envelope[T any] struct {
	Data T `json:"data"`
	Meta struct {
		Total      int64  `json:"total"`
		HasMore    bool   `json:"hasMore"`
		NextCursor string `json:"nextCursor"`
	} `json:"meta"`
	RequestID string `json:"requestId"`

	took time.Duration // duration of the successful attempt
}

// apiError is the error object of an answer.
type apiError struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// do makes a call with retries and decodes the data of the answer.
func do[T any](ctx context.Context, c *Client, request call) (answer envelope[T], err error) {
	response, err := c.api.Do(ctx, request.request())
	if err != nil {
		return answer, failure(ctx, request.method, request.path, err)
	}
	answer.took = response.Took
	if response.Status == http.StatusNoContent {
		return answer, nil
	}
	if err := json.Unmarshal(response.Body, &answer); err != nil {
		return answer, fault.Wrap(err, fault.BadGateway, "The server's answer cannot be read")
	}
	return answer, nil
}
