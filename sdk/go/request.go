package livegraph

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Request is a request of the API.
type Request struct {
	Method string
	Path   string // such as /api/me
	Query  url.Values
	Header http.Header
	Body   []byte
	// Once is true if a repetition could change something that the first request did not, or hide its result. The
	// request is then only repeated if the server certainly did not execute it.
	Once bool
	// Uncompressed is true if a long body must not be compressed.
	Uncompressed bool
	// Timeout is the timeout of one attempt, 0: that of the client.
	Timeout time.Duration

	// waits is true if the server answers with 504 after it has waited for something. The request is then repeated at
	// once.
	waits bool
}

// Response is a response of the API with a status of success.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	// Took is the duration of the last attempt.
	Took time.Duration
}

const (
	// minCompressed is the length from which bodies are compressed.
	minCompressed = 1 << 10
	jsonMedia     = "application/json"
	// commandWait is the preference of commands: they wait for their result as long as the server allows.
	commandWait = "wait=30"
)

// operation is a route of the API with its method.
type operation struct{ method, path string }

// request returns a request of the operation. The values replace the parameters of the path in their order.
func (o operation) request(values ...string) *Request {
	path := o.path
	for _, value := range values {
		start, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:start] + url.PathEscape(value) + path[end+1:]
	}
	return &Request{Method: o.method, Path: path}
}

// withQuery returns a request of the operation with query parameters.
func (o operation) withQuery(query url.Values, values ...string) *Request {
	r := o.request(values...)
	r.Query = query
	return r
}

// withBody returns a request of the operation with a body in JSON.
func (o operation) withBody(content any, values ...string) (*Request, error) {
	r := o.request(values...)
	body, err := encode(content)
	if err != nil {
		return nil, err
	}
	r.Body, r.Header = body, http.Header{"Content-Type": {jsonMedia}}
	return r, nil
}

// encode returns a value as JSON. Unlike json.Marshal, it does not escape <, > and &.
func encode(content any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return nil, fmt.Errorf("livegraph: the request cannot be written as JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// checkPath returns an error for a path with an empty part, . or .., which would be another path.
func checkPath(path string) error {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("livegraph: %s: an id is empty or consists of dots", path)
		}
	}
	return nil
}

// set sets a header of the request.
func (r *Request) set(name, value string) {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set(name, value)
}

// compress returns a body compressed with gzip.
func compress(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(body)                            // to memory
	_ = w.Close()
	return b.Bytes()
}

// newIdempotencyKey returns a random key.
func newIdempotencyKey() string { return rand.Text() }
