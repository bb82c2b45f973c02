package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

const (
	// maxResponseBytes is the maximum size of a response of the API that is read.
	maxResponseBytes = 8 << 20
	// maxConcurrentCalls is the maximum number of concurrent requests of a server. Others wait.
	maxConcurrentCalls = 4
	// maxCalls is the maximum number of requests of a server that serves one request of /mcp. A request can contain
	// several calls of tools.
	maxCalls = 100
)

// client calls the routes of the API.
type client struct {
	options Options
	slots   chan struct{}
	calls   atomic.Int64 // that are left, if the server serves one request
}

// response is a response of the API with the envelope.
type response struct {
	Data json.RawMessage `json:"data"`
	Meta struct {
		Total     *int64   `json:"total"`
		Offset    int      `json:"offset"`
		HasMore   bool     `json:"hasMore"`
		Truncated bool     `json:"truncated"`
		Degraded  []string `json:"degraded"`
		Interval  string   `json:"interval"`
	} `json:"meta"`
	Error     *problem `json:"error"`
	RequestID string   `json:"requestId"`
	Warnings  []string `json:"-"` // of Prometheus
}

// problem is an error of the API.
type problem struct {
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details,omitempty"`
	Status     int            `json:"status"`
	RetryAfter int            `json:"retryAfterSeconds,omitempty"`
	RequestID  string         `json:"requestId,omitempty"`
}

// Error implements error.
func (p *problem) Error() string { return p.Message }

// get requests a path with query parameters.
func (c *client) get(ctx context.Context, path string, query url.Values) (*response, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(ctx, http.MethodGet, path, nil, nil, readResponse)
}

// post sends a body in JSON.
func (c *client) post(ctx context.Context, path string, body any, header http.Header) (*response, error) {
	text, err := encode(body)
	if err != nil {
		return nil, err
	}
	return c.call(ctx, http.MethodPost, path, text, header, readResponse)
}

// call sends a request, and reads its response by the given function.
func (c *client) call(
	ctx context.Context, method, path string, body []byte, header http.Header,
	read func(*http.Response) (*response, error),
) (*response, error) {
	if c.options.OneRequest && c.calls.Add(-1) < 0 {
		return nil, &problem{
			Code: "VALIDATION_ERROR", Message: "Too many calls in one request", Status: http.StatusBadRequest,
		}
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r, err := http.NewRequestWithContext(ctx, method, c.options.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the address of the server: %w", err)
	}
	for _, h := range []http.Header{c.options.Header, header} {
		for name, values := range h {
			r.Header[name] = values
		}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.options.Transport.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("the server cannot be reached: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	return read(answer)
}

// readBody reads the body of a response.
func readBody(answer *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxResponseBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the server's answer: %w", err)
	}
	if len(text) > maxResponseBytes {
		return nil, errors.New("the server's answer is too large: request less")
	}
	return text, nil
}

// readResponse reads a response with the envelope.
func readResponse(answer *http.Response) (*response, error) {
	text, err := readBody(answer)
	if err != nil {
		return nil, err
	}
	var got response
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, fmt.Errorf("the server's answer, with status %d, is not that of Livegraph", answer.StatusCode)
	}
	if answer.StatusCode < http.StatusBadRequest {
		return &got, nil
	}
	if got.Error == nil {
		return nil, fmt.Errorf("the server answered with status %d", answer.StatusCode)
	}
	got.Error.Status, got.Error.RequestID = answer.StatusCode, got.RequestID
	got.Error.RetryAfter, _ = strconv.Atoi(answer.Header.Get("Retry-After"))
	return nil, got.Error
}

// failedResult returns the result of a tool that failed, in a form that a model can act on.
func failedResult(err error) *mcp.CallToolResult {
	text := err.Error()
	var p *problem
	if errors.As(err, &p) {
		short := *p
		encoded, err := encode(map[string]any{"error": short})
		if err != nil || len(encoded) > maxAnswerBytes {
			short.Details, short.Message = nil, truncate.Bytes(short.Message, maxText)
			encoded, err = encode(map[string]any{"error": short})
		}
		if err == nil {
			text = string(encoded)
		}
	}
	text = truncate.Bytes(text, maxAnswerBytes)
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// encode encodes a value as JSON in which <, > and & are not escaped.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// setInt sets a parameter, unless it is zero.
func setInt(query url.Values, name string, value int) {
	if value != 0 {
		query.Set(name, strconv.Itoa(value))
	}
}

func setText(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func addAll(query url.Values, name string, values []string) {
	for _, value := range values {
		query.Add(name, value)
	}
}
