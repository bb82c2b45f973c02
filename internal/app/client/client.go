// Package client is a client of the public HTTP API of a Livegraph server: sources,
// ingest and queries, the graph and its commands. It uses only the published API document
// and HTTP, like any external client.
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
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/gzip"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// attemptTimeout bounds one attempt, including the wait for a checkpoint.
	attemptTimeout = 20 * time.Second
	// gzipMinBytes is the minimum size of a body that is compressed.
	gzipMinBytes = 1 << 10
	// maxAnswerBytes is the maximum size of the body of an answer.
	maxAnswerBytes = 64 << 20
)

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

// Client is a client of one workspace of a server. It is safe for concurrent use.
type Client struct {
	base      string
	workspace string
	userAgent string
	http      *http.Client
	retry     Retry
	key       *key // shared with clients that WithRetry and RetryUntil return
}

// New creates a client. Without NewKey it has no key until SetKey is called.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("the server's address %q is not an http or https URL", o.BaseURL)
	}
	c := &Client{
		base: strings.TrimRight(o.BaseURL, "/"), workspace: o.Workspace, userAgent: o.UserAgent,
		http: o.HTTP, retry: o.Retry.withDefaults(), key: &key{create: o.NewKey},
	}
	if c.http == nil {
		c.http = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call is one request of the API.
type call struct {
	method       string
	path         string
	query        url.Values
	body         []byte // nil for none
	media        string // of the body; default: JSON
	uncompressed bool   // do not compress the body
	gzipped      bool   // the body is compressed
	// idempotencyKey is the Idempotency-Key of a command, the same for each attempt; "" for
	// other calls.
	idempotencyKey string
	// waitTimeout bounds an attempt; 0: attemptTimeout.
	waitTimeout time.Duration
}

// envelope is the envelope of every answer.
type envelope[T any] struct {
	Success bool `json:"success"`
	Data    T    `json:"data"`
	Meta    struct {
		Total      int64  `json:"total"`
		HasMore    bool   `json:"hasMore"`
		NextCursor string `json:"nextCursor"`
	} `json:"meta"`
	Error     apiError `json:"error"`
	RequestID string   `json:"requestId"`

	took time.Duration // duration of the successful attempt
}

// apiError is the error object of an answer.
type apiError struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// do makes a call with retries and decodes the data of the answer.
func do[T any](ctx context.Context, c *Client, request call) (envelope[T], error) {
	if len(request.body) >= gzipMinBytes && !request.uncompressed {
		request.body, request.gzipped = compress(request.body), true
	}
	return retryCall(ctx, c.retry, func() (envelope[T], error) { return once[T](ctx, c, request) })
}

// send makes a call with a key, without retries.
func send[T any](ctx context.Context, c *Client, request call, key string) (envelope[T], error) {
	var answer envelope[T]
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(request.waitTimeout, attemptTimeout))
	defer cancel()
	r, err := c.request(bounded, request, key)
	if err != nil {
		return answer, fault.Wrap(err, fault.Malformed, "The request cannot be made")
	}
	began := time.Now()
	response, err := c.http.Do(r)
	if err != nil {
		return answer, fault.Wrap(err, fault.Unavailable, "The server cannot be reached")
	}
	defer func() { _ = response.Body.Close() }()
	payload, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return answer, fault.Wrap(err, fault.Unavailable, "The server's answer broke off")
	}
	if len(payload) > maxAnswerBytes {
		return answer, fault.New(fault.TooLarge, "The server's answer is too long")
	}
	if response.StatusCode/100 != 2 {
		return answer, failure(r, response, payload)
	}
	if response.StatusCode == http.StatusNoContent {
		return answer, nil
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		return answer, fault.Wrap(err, fault.BadGateway, "The server's answer cannot be read")
	}
	answer.took = time.Since(began)
	return answer, nil
}

func (c *Client) request(ctx context.Context, request call, key string) (*http.Request, error) {
	address := c.base + request.path
	if len(request.query) > 0 {
		address += "?" + request.query.Encode()
	}
	var body io.Reader
	if request.body != nil {
		body = bytes.NewReader(request.body)
	}
	r, err := http.NewRequestWithContext(ctx, request.method, address, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("X-Workspace-Id", c.workspace)
	if c.userAgent != "" {
		r.Header.Set("User-Agent", c.userAgent)
	}
	if request.body != nil {
		r.Header.Set("Content-Type", cmp.Or(request.media, "application/json"))
	}
	if request.gzipped {
		r.Header.Set("Content-Encoding", "gzip")
	}
	if request.idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", request.idempotencyKey)
		r.Header.Set("Prefer", "wait="+commandWaitSeconds)
	}
	return r, nil
}

// compress returns the body compressed with gzip. Writing to memory cannot fail.
func compress(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(body)
	_ = w.Close()
	return b.Bytes()
}
