package livegraph_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"sync"
	"testing"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

const (
	testKey   = "lg_live_secretsecretsecret"
	workspace = "0194a5b0-0000-7000-8000-00000000000a"
)

// quick is a retry policy with short waits.
var quick = livegraph.Retry{First: time.Millisecond, Max: 2 * time.Millisecond, Total: 20 * time.Second}

// received is a request that the server received.
type received struct {
	method, path string
	query        url.Values
	header       http.Header
	body         string
}

// json returns the body.
func (r *received) json(t *testing.T) (content map[string]any) {
	t.Helper()
	noError(t, json.Unmarshal([]byte(r.body), &content))
	return content
}

// server is a server on this machine that a function implements.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	requests []received
}

// all returns the requests so far.
func (s *server) all() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.requests...)
}

// serve starts a server. The handler is called with the number of the request, from 1.
func serve(t *testing.T, handler func(n int, w http.ResponseWriter, r *received)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		text, _ := io.ReadAll(body)
		got := received{r.Method, r.URL.EscapedPath(), r.URL.Query(), r.Header, string(text)}
		s.mu.Lock()
		s.requests = append(s.requests, got)
		n := len(s.requests)
		s.mu.Unlock()
		handler(n, w, &got)
	}))
	t.Cleanup(s.Close)
	return s
}

// client returns a client of the server with quick retries.
func (s *server) client(t *testing.T, options ...livegraph.Option) *livegraph.Client {
	t.Helper()
	options = append([]livegraph.Option{livegraph.WithWorkspace(workspace), livegraph.WithRetry(quick)}, options...)
	c, err := livegraph.New(s.URL+"/", testKey, options...)
	noError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// succeed answers with data.
func succeed(w http.ResponseWriter, data string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"success":true,"data":%s,"requestId":"req_1"}`, data)
}

// page answers with a page.
func page(w http.ResponseWriter, items string, hasMore bool, cursor string) {
	_, _ = fmt.Fprintf(
		w, `{"success":true,"data":%s,"meta":{"total":3,"limit":100,"offset":0,"hasMore":%t,"nextCursor":%s}}`, items,
		hasMore, cursor,
	)
}

// fail answers with an error.
func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(
		w, `{"success":false,"error":{"code":%q,"message":"no","details":{"field":"x","reason":"is bad"}},
			"requestId":"req_1"}`, code,
	)
}

// breakOff ends the connection without a response.
func breakOff(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("want %+v, got %+v", want, got)
	}
}

func check(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Fatalf(format, args...)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		check(t, time.Now().Before(end), "%s", what)
	}
}
