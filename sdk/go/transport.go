package livegraph

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

const (
	defaultTimeout = 45 * time.Second
	// maxResponse is the maximum length of the body of a response.
	maxResponse = 256 << 20
)

// transport sends requests to one workspace, and repeats them.
type transport struct {
	base, workspace, userAgent string
	key                        *keyring // shared with clients of another retry policy
	retry                      Retry
	timeout                    time.Duration
	http                       *http.Client
}

// send returns the response to a request, which is sent again after transient errors.
func (t *transport) send(ctx context.Context, request *Request) (*Response, error) {
	if err := checkPath(request.Path); err != nil {
		return nil, err
	}
	ready := *request
	if len(ready.Body) >= minCompressed && !ready.Uncompressed {
		ready.Body, ready.Header = compress(ready.Body), ready.Header.Clone()
		ready.set("Content-Encoding", "gzip")
	}
	retries := newAttempts(t.retry, &ready)
	for {
		retries.begin()
		response, err := withKey(ctx, t, func(key string) (*Response, error) {
			return t.attempt(ctx, &ready, key)
		})
		if err == nil {
			return response, nil
		}
		if err := retries.wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

// attempt makes one attempt and reads the body of its response.
func (t *transport) attempt(ctx context.Context, r *Request, key string) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, t.timeout))
	defer cancel()
	began := time.Now()
	response, err := t.open(ctx, r, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := readBody(r, response)
	if err != nil {
		return nil, err
	}
	return &Response{Status: response.StatusCode, Header: response.Header, Body: body, Took: time.Since(began)}, nil
}

// open makes one attempt and returns its response, which has a status of success, when its body begins.
func (t *transport) open(ctx context.Context, r *Request, key string) (*http.Response, error) {
	address := t.base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	request, err := http.NewRequestWithContext(traced, r.Method, address, body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		request.Header[name] = values
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("User-Agent", t.userAgent)
	if t.workspace != "" {
		request.Header.Set("X-Workspace-Id", t.workspace)
	}
	response, err := t.http.Do(request)
	if err != nil {
		return nil, newTransportError(r, err, connected.Load())
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	content, err := readBody(r, response)
	if err != nil {
		return nil, err
	}
	return nil, newAPIError(response, content)
}

// readBody reads the body of a response.
func readBody(r *Request, response *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, newTransportError(r, err, true)
	}
	if len(body) > maxResponse {
		return nil, newResponseError(r, "the response is too long", nil)
	}
	return body, nil
}

// newTransportError returns the error of an attempt without a complete response.
func newTransportError(r *Request, cause error, sent bool) *TransportError {
	message := "the server cannot be reached"
	if sent {
		message = "the connection broke"
	}
	var timeout net.Error
	if errors.As(cause, &timeout) && timeout.Timeout() {
		message = "the server did not answer in time"
	}
	return &TransportError{Message: r.Method + " " + r.Path + ": " + message, Sent: sent, Err: cause}
}

// newResponseError returns the error of a response that is not one of the API.
func newResponseError(r *Request, message string, cause error) *ResponseError {
	return &ResponseError{Message: r.Method + " " + r.Path + ": " + message, Err: cause}
}
