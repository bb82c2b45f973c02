// Package inprocess sends requests to the HTTP handler of the API within the process, for other protocols that are
// translated to the API's routes: gRPC and the Model Context Protocol.
package inprocess

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// Response collects the response of a handler. It implements http.ResponseWriter.
type Response struct {
	Status int
	Body   bytes.Buffer
	header http.Header
}

// NewResponse creates an empty response.
func NewResponse() *Response { return &Response{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (w *Response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *Response) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
	}
}

// Write implements http.ResponseWriter.
func (w *Response) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.Body.Write(b)
}

// Transport is an http.RoundTripper that calls a handler. The context of a request ends that of the handler's request,
// but its values are not passed on, because they belong to the request that is being translated.
type Transport struct {
	Handler http.Handler
	// RemoteAddr is the address of the client.
	RemoteAddr string
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	inner := r.Clone(ctx)
	inner.RemoteAddr, inner.RequestURI = t.RemoteAddr, r.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	w := NewResponse()
	t.Handler.ServeHTTP(w, inner)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: w.Status, Header: w.header, Body: io.NopCloser(&w.Body), ContentLength: int64(w.Body.Len()), Request: r,
	}, nil
}
