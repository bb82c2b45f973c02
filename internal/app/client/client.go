// Package client talks to a Livegraph server over its public HTTP interface:
// sources, ingest and queries, the graph and its commands. It knows nothing that a
// foreign client could not know: the interface document and HTTP.
//
// A call that a server refuses for a passing reason (429, 500, 502, 503, 504, no
// connection) is made again, with exponential back-off from one second to
// thirty, jitter, or after exactly what Retry-After asks for. That is safe for
// every call here: reads change nothing, a source's name is unique, a point with a
// timestamp overwrites itself, and commands carry an Idempotency-Key.
//
// Errors are *fault.Error of the kind that the answer's status stands for; a
// server that cannot be reached is fault.Unavailable.
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
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/gzip"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// attemptTimeout bounds one attempt, waiting for a checkpoint included.
	attemptTimeout = 20 * time.Second
	// gzipFrom is the size from which a body is worth compressing.
	gzipFrom = 1 << 10
	// longestAnswer bounds what is read of an answer.
	longestAnswer = 64 << 20
)

// Options says which server to talk to, and how patiently.
type Options struct {
	BaseURL   string // https://host:port, without /api
	Workspace string // UUID, sent as x-workspace-id
	UserAgent string
	HTTP      *http.Client // default: one of its own
	Retry     Retry
}

// Client is safe for use by several goroutines.
type Client struct {
	base      string
	workspace string
	userAgent string
	http      *http.Client
	retry     Retry
	key       *atomic.Pointer[string] // shared with what RetryUntil gives
}

// New creates a client. It has no key before SetKey.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("the server's address %q is not an http or https URL", o.BaseURL)
	}
	c := &Client{
		base: strings.TrimRight(o.BaseURL, "/"), workspace: o.Workspace, userAgent: o.UserAgent,
		http: o.HTTP, retry: o.Retry.withDefaults(), key: &atomic.Pointer[string]{},
	}
	if c.http == nil {
		c.http = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	c.SetKey("")
	return c, nil
}

// SetKey sets the key of all calls from now on.
func (c *Client) SetKey(key string) { c.key.Store(&key) }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call is one request of the interface.
type call struct {
	method string
	path   string
	query  url.Values
	body   []byte // nil for none
	media  string // of the body; default: JSON
	asIs   bool   // the body is not worth compressing, or must not be
	zipped bool
	// once is the Idempotency-Key of a command, the same for each attempt; "" for
	// what is none.
	once string
	// waitTimeout bounds an attempt; 0: attemptTimeout.
	waitTimeout time.Duration
}

// envelope is the frame of every answer.
type envelope[T any] struct {
	Success bool `json:"success"`
	Data    T    `json:"data"`
	Meta    struct {
		Total      int64  `json:"total"`
		HasMore    bool   `json:"hasMore"`
		NextCursor string `json:"nextCursor"`
	} `json:"meta"`
	Error     refusal `json:"error"`
	RequestID string  `json:"requestId"`

	took time.Duration // of the attempt that was answered
}

// refusal is why something was refused, in the interface's words.
type refusal struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// do makes a call, again where that makes sense, and decodes the answer's data.
func do[T any](ctx context.Context, c *Client, request call) (envelope[T], error) {
	if len(request.body) >= gzipFrom && !request.asIs {
		request.body, request.zipped = compress(request.body), true
	}
	return attempts(ctx, c.retry, func() (envelope[T], error) { return once[T](ctx, c, request) })
}

// once makes a call once.
func once[T any](ctx context.Context, c *Client, request call) (envelope[T], error) {
	var answer envelope[T]
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(request.waitTimeout, attemptTimeout))
	defer cancel()
	r, err := c.request(bounded, request)
	if err != nil {
		return answer, fault.Wrap(err, fault.Malformed, "The request cannot be made")
	}
	began := time.Now()
	response, err := c.http.Do(r)
	if err != nil {
		return answer, fault.Wrap(err, fault.Unavailable, "The server cannot be reached")
	}
	defer func() { _ = response.Body.Close() }()
	payload, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer+1))
	if err != nil {
		return answer, fault.Wrap(err, fault.Unavailable, "The server's answer broke off")
	}
	if len(payload) > longestAnswer {
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

func (c *Client) request(ctx context.Context, request call) (*http.Request, error) {
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
	r.Header.Set("Authorization", "Bearer "+*c.key.Load())
	r.Header.Set("X-Workspace-Id", c.workspace)
	if c.userAgent != "" {
		r.Header.Set("User-Agent", c.userAgent)
	}
	if request.body != nil {
		r.Header.Set("Content-Type", cmp.Or(request.media, "application/json"))
	}
	if request.zipped {
		r.Header.Set("Content-Encoding", "gzip")
	}
	if request.once != "" {
		r.Header.Set("Idempotency-Key", request.once)
		r.Header.Set("Prefer", "wait="+commandWait)
	}
	return r, nil
}

// compress returns the body in gzip. Writing to memory cannot fail.
func compress(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(body)
	_ = w.Close()
	return b.Bytes()
}
