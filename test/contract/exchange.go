package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas"
)

// Request is a request to send. An empty Key or Workspace means the server's admin
// key or workspace; None leaves the header out.
type Request struct {
	Method    string // GET by default
	Path      string // including the query
	Body      string
	Key       string
	Workspace string
	Header    map[string]string // further headers; "" removes one
}

// None as a key or workspace leaves its header out.
const None = "\x00none"

// Answer is the response to a request.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte
	Success   bool
	Data      json.RawMessage
	Meta      *Meta
	Error     Problem
	RequestID string
}

// Meta is the pagination of a list.
type Meta struct {
	Total, Limit, Offset int64
	HasMore              bool
	Degraded             []string
}

// Problem is the error object of an answer.
type Problem struct {
	Code, Message string
	Details       map[string]any
}

// Do sends the request, validates the answer against the contract and returns it.
func (s *Server) Do(t testing.TB, q Request) *Answer {
	t.Helper()
	r := s.newRequest(t, q)
	return s.check(t, r, s.send(t, r))
}

// DoUnchecked sends the request and returns the answer without validating it against the
// contract, for routes that only tests have. The envelope of errors is still checked.
func (s *Server) DoUnchecked(t testing.TB, q Request) *Answer {
	t.Helper()
	a := s.send(t, s.newRequest(t, q))
	if a.Status >= http.StatusBadRequest && q.Method != http.MethodHead {
		s.checkFailure(t, q.Path, a)
	}
	return a
}

// Get is Do for a GET that must succeed. The answer's data is decoded into data.
func (s *Server) Get(t testing.TB, path string, data any) *Answer {
	t.Helper()
	a := s.Do(t, Request{Path: path})
	require.Equal(t, http.StatusOK, a.Status, "GET %s: %s", path, a.Body)
	require.NoError(t, json.Unmarshal(a.Data, data))
	return a
}

// Bytes returns the bytes of a request on the wire.
func (s *Server) Bytes(t testing.TB, q Request) string {
	t.Helper()
	var sent bytes.Buffer
	require.NoError(t, s.newRequest(t, q).Write(&sent))
	return sent.String()
}

func (s *Server) newRequest(t testing.TB, q Request) *http.Request {
	t.Helper()
	if q.Method == "" {
		q.Method = http.MethodGet
	}
	var body io.Reader
	if q.Body != "" {
		body = strings.NewReader(q.Body)
	}
	r, err := http.NewRequestWithContext(t.Context(), q.Method, s.URL+q.Path, body)
	require.NoError(t, err)
	if q.Key == "" {
		q.Key = s.Admin
	}
	if q.Key != None {
		r.Header.Set("Authorization", "Bearer "+q.Key)
	}
	if q.Workspace == "" {
		q.Workspace = s.Workspace.String()
	}
	if q.Workspace != None {
		r.Header.Set("x-workspace-id", q.Workspace)
	}
	if q.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range q.Header {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

func (s *Server) send(t testing.TB, r *http.Request) *Answer {
	t.Helper()
	response, err := s.http.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	a := &Answer{Status: response.StatusCode, Header: response.Header, Body: body}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") && a.Header.Get("Content-Encoding") == "" &&
		len(body) > 0 && !bytes.Contains(body, []byte(`"jsonrpc":"2.0"`)) {
		if strings.HasPrefix(r.URL.Path, prometheusPath) {
			a.decodePrometheus(t)
		} else {
			a.decode(t)
		}
	}
	return a
}

// prometheusPath is the path of the API of Prometheus, whose answers have no envelope.
const prometheusPath = "/prometheus"

// decodePrometheus decodes an answer in the format of Prometheus. The type of an error is its code.
func (a *Answer) decodePrometheus(t testing.TB) {
	t.Helper()
	var answer struct {
		Status, ErrorType, Error string
		Data                     json.RawMessage
	}
	require.NoError(t, json.Unmarshal(a.Body, &answer), "%s", a.Body)
	a.Success, a.Data = answer.Status == "success", answer.Data
	a.Error = Problem{Code: answer.ErrorType, Message: answer.Error}
}

func (a *Answer) decode(t testing.TB) {
	t.Helper()
	var envelope struct {
		Success   bool
		Data      json.RawMessage
		Meta      *Meta
		Error     Problem
		RequestID string
	}
	require.NoError(t, json.Unmarshal(a.Body, &envelope), "%s", a.Body)
	a.Success, a.Data, a.Meta = envelope.Success, envelope.Data, envelope.Meta
	a.Error, a.RequestID = envelope.Error, envelope.RequestID
	if a.RequestID != "" {
		require.Equal(t, a.RequestID, a.Header.Get("X-Request-Id"), "the body and the header tell the same request")
	}
}

// check validates the answer against the request's route in the contract. The answer to
// a request without a route must be a failure that is possible for any path.
func (s *Server) check(t testing.TB, r *http.Request, a *Answer) *Answer {
	t.Helper()
	lookup := r.Clone(r.Context())
	if r.Method == http.MethodHead {
		lookup.Method = http.MethodGet
	}
	found, params, err := s.find(lookup)
	if err != nil {
		require.Contains(t, []int{
			http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge,
			http.StatusTooManyRequests,
		}, a.Status,
			"%s %s is not in the contract: %s", r.Method, r.URL.Path, a.Body)
		s.checkFailure(t, r.URL.Path, a)
		return a
	}
	isJSON := strings.HasPrefix(a.Header.Get("Content-Type"), "application/json")
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: lookup, PathParams: params, Route: found},
		Status:                 a.Status, Header: a.Header,
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, MultiError: true,
			ExcludeResponseBody: !isJSON || len(a.Body) == 0,
		},
	}
	input.SetBodyBytes(a.Body)
	require.NoError(
		t, openapi3filter.ValidateResponse(r.Context(), input), "%s %s %d: %s", r.Method, r.URL, a.Status, a.Body,
	)
	s.checkContentType(t, found, a, r.Method)
	return a
}

// find returns the documented route of a request. Routes of the API that admin.yaml does
// not document are available to operators below /admin, as openapi.yaml documents them.
func (s *Server) find(lookup *http.Request) (*routers.Route, map[string]string, error) {
	if !strings.HasPrefix(lookup.URL.Path, "/admin") {
		return s.contract.router.FindRoute(lookup)
	}
	found, params, err := s.adminContract.router.FindRoute(lookup)
	if err == nil && (found.Path != "/admin/{asset}" || !strings.HasPrefix(lookup.URL.Path, "/admin/api/")) {
		return found, params, nil
	}
	lookup.URL.Path = strings.TrimPrefix(lookup.URL.Path, "/admin")
	lookup.URL.RawPath = strings.TrimPrefix(lookup.URL.RawPath, "/admin") // empty unless it has escapes
	return s.contract.router.FindRoute(lookup)
}

func (s *Server) checkContentType(t testing.TB, found *routers.Route, a *Answer, method string) {
	t.Helper()
	documented := found.Operation.Responses.Status(a.Status).Value.Content
	contentType, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	if len(documented) == 0 {
		require.Empty(t, a.Body, "an answer without content in the contract")
		require.Empty(t, contentType)
		return
	}
	require.Contains(t, documented, contentType)
	// Without points, NDJSON has no lines. A message of protobuf without fields has no bytes.
	if method != http.MethodHead && contentType != "application/x-ndjson" && contentType != "application/x-protobuf" {
		require.NotEmpty(t, a.Body)
	}
}

// genericFailures maps a status to the documented response that an answer must match when
// the request has no route.
var genericFailures = map[int]string{
	400: "Malformed", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 409: "Conflict",
	413: "TooLarge", 415: "UnsupportedMedia", 422: "Invalid", 429: "RateLimited",
	500: "Internal", 502: "BadGateway", 503: "Unavailable", 504: "Timeout",
}

func (s *Server) checkFailure(t testing.TB, path string, a *Answer) {
	t.Helper()
	name, known := genericFailures[a.Status]
	require.True(t, known, "status %d is none of the interface", a.Status)
	if strings.HasPrefix(path, prometheusPath) {
		name = "PrometheusError"
	}
	response := s.contract.doc.Components.Responses[name].Value
	if strings.HasPrefix(path, "/admin") {
		switch a.Status {
		case http.StatusUnauthorized:
			response = s.adminContract.doc.Components.Responses["NoSession"].Value
		case http.StatusForbidden:
			response = s.adminContract.doc.Components.Responses["Forged"].Value
		}
	}
	var body any
	require.NoError(t, json.Unmarshal(a.Body, &body), "%d: %s", a.Status, a.Body)
	require.NoError(
		t, response.Content["application/json"].Schema.Value.VisitJSON(body, openapi3.EnableFormatValidation()), "%s", a.Body,
	)
	for header, ref := range response.Headers {
		if ref.Value.Required {
			require.NotEmpty(t, a.Header.Get(header), header)
		}
	}
	require.Equal(t, "application/json; charset=utf-8", a.Header.Get("Content-Type"))
}

// RequireFailure checks a failure's status, code, message (unless empty) and the given
// details. The failure may have further details.
func (a *Answer) RequireFailure(t testing.TB, status int, code, message string, details map[string]any) {
	t.Helper()
	require.Equal(t, status, a.Status, "%s", a.Body)
	require.False(t, a.Success)
	require.Equal(t, code, a.Error.Code)
	if message != "" {
		require.Equal(t, message, a.Error.Message)
	}
	for name, want := range details {
		require.Equal(t, want, a.Error.Details[name], "details.%s of %s", name, a.Body)
	}
}

// document is an OpenAPI document, with a router that finds the operation of a request.
type document struct {
	doc    *openapi3.T
	router routers.Router
}

// loadContract loads the published contract, once for all tests. No test modifies it.
var loadContract = sync.OnceValues(func() (document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(bytes.Clone(schemas.OpenAPI))
	if err != nil {
		return document{}, err
	}
	return newDocument(doc)
})

// loadAdminContract loads the contract of the admin UI, which refers to the published
// contract.
var loadAdminContract = sync.OnceValues(func() (document, error) {
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, uri *url.URL) ([]byte, error) {
		if path.Base(uri.Path) != "openapi.yaml" {
			return nil, fmt.Errorf("admin.yaml refers to %s", uri)
		}
		return bytes.Clone(schemas.OpenAPI), nil
	}
	doc, err := loader.LoadFromDataWithPath(bytes.Clone(schemas.Admin), &url.URL{Path: "admin.yaml"})
	if err != nil {
		return document{}, err
	}
	return newDocument(doc)
})

func newDocument(doc *openapi3.T) (document, error) {
	doc.Servers = nil // any host
	router, err := gorillamux.NewRouter(doc)
	return document{doc: doc, router: router}, err
}

// CheckSchema validates a JSON list against the contract: each item must match the named
// schema.
func (s *Server) CheckSchema(t testing.TB, name, list string) {
	t.Helper()
	var items []any
	require.NoError(t, json.Unmarshal([]byte(list), &items))
	for _, item := range items {
		require.NoError(t, s.contract.doc.Components.Schemas[name].Value.VisitJSON(item), "%s", list)
	}
}
