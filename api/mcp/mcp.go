// Package mcp serves the Model Context Protocol over streamable HTTP at /mcp
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http), without sessions and
// without streams: each request is answered with one response in JSON. The tools are those of
// internal/services/mcpserver. They call the other routes of this process with the key and the workspace of the
// request.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/livegraph/livegraph/api/inprocess"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/mcpserver"
)

// Path is the path of the route.
const Path = "/mcp"

const (
	maxBody  = 1 << 20
	jsonType = "application/json"
	// invalidRequest is the code of JSON-RPC 2.0 for a request that is not one.
	invalidRequest = -32600
)

// Deps are the dependencies of the route.
type Deps struct {
	Version string
	// Handler returns the handler of all routes of the process, of which this route is one.
	Handler func() http.Handler
	// Timeout is the maximum duration of a request.
	Timeout time.Duration
}

// Route returns the route. A key needs any scope, because tools require their own.
func Route(deps Deps) route.Route {
	return route.Route{
		Method: http.MethodPost, Pattern: Path, Scopes: request.Scopes, Handle: deps.serve, Dialect: &route.Dialect{},
	}
}

func (d Deps) serve(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	body, release, err := request.Body(w, r, maxBody)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(r.Context(), d.Timeout)
	defer cancel()
	server := mcpserver.New(mcpserver.Options{
		Version: d.Version, Scopes: scopes(r), OneRequest: true, Header: forwarded(r.Header),
		Transport: &inprocess.Transport{Handler: d.Handler(), RemoteAddr: r.RemoteAddr}, URL: "http://livegraph",
	})
	handler := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
			// The protection is against web pages, which have no key.
			DisableLocalhostProtection: true,
		},
	)
	inner := r.Clone(ctx)
	inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	inner.Header.Del("Content-Encoding") // the body is decoded
	answer := inprocess.NewResponse()
	handler.ServeHTTP(answer, inner)
	if ctx.Err() != nil && r.Context().Err() == nil {
		return fault.New(fault.Timeout, "The request took too long").After(time.Second)
	}
	send(w, answer)
	return nil
}

// scopes returns the scopes of the request's key.
func scopes(r *http.Request) (list []string) {
	for _, scope := range request.PrincipalOf(r.Context()).Scopes {
		list = append(list, string(scope))
	}
	return list
}

// forwarded returns the headers that the calls of tools have: the key, the workspace, and what the audit log records.
func forwarded(h http.Header) http.Header {
	passed := http.Header{}
	for _, name := range []string{"Authorization", "X-Workspace-Id", "X-Forwarded-For", "User-Agent", "Traceparent"} {
		if values := h.Values(name); len(values) > 0 {
			passed[name] = values
		}
	}
	return passed
}

// send writes the answer of the protocol's handler. Errors without JSON become errors of JSON-RPC.
func send(w http.ResponseWriter, answer *inprocess.Response) {
	mediaType, status := answer.Header().Get("Content-Type"), answer.Status
	switch {
	case status == 0 || answer.Body.Len() == 0:
		w.WriteHeader(max(status, http.StatusAccepted))
	case strings.HasPrefix(mediaType, jsonType):
		reply.Raw(w, status, jsonType, answer.Body.Bytes())
	default:
		body, _ := json.Marshal(map[string]any{ // strings and numbers can be encoded
			"jsonrpc": "2.0", "id": nil,
			"error": map[string]any{"code": invalidRequest, "message": refusal(answer.Body.String())},
		})
		reply.Raw(w, max(status, http.StatusBadRequest), jsonType, body)
	}
}

// refusal returns the message for a request that the protocol's handler refused. Of its own messages, those about
// headers are passed on; others are about its code.
func refusal(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "Accept must") || strings.HasPrefix(text, "Bad Request: Unsupported protocol version") {
		return text
	}
	return "Invalid request: the body must be a message of JSON-RPC 2.0 and of the Model Context Protocol"
}
