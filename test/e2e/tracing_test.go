package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector accepts spans like an OTLP collector. While it hangs, it does not answer.
type collector struct {
	*httptest.Server
	hangs   atomic.Bool
	release chan struct{}

	mu      sync.Mutex
	spans   []*spans.Span
	raw     bytes.Buffer // everything received, as protobuf
	invalid []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{release: make(chan struct{})}
	c.Server = httptest.NewServer(c)
	t.Cleanup(func() {
		close(c.release)
		c.Close()
	})
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.hangs.Load() {
		<-c.release
		return
	}
	body, err := readGzip(r)
	var export coltrace.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &export)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		r.Header.Get("x-key") != "hunter2" {
		c.invalid = append(c.invalid, r.URL.Path+" "+r.Header.Get("Content-Type"))
	}
	c.raw.Write(body)
	for _, resource := range export.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func readGzip(r *http.Request) ([]byte, error) {
	body, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(body)
}

// await waits until a span for which fits returns true arrives, and returns it.
func (c *collector) await(t *testing.T, what string, fits func(*spans.Span) bool) *spans.Span {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if found := c.find(fits); found != nil {
			return found
		}
		require.True(t, time.Now().Before(deadline), "no span arrived: %s", what)
	}
}

func (c *collector) find(fits func(*spans.Span) bool) *spans.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		if fits(span) {
			return span
		}
	}
	return nil
}

// childOf matches a child of parent with the given name.
func childOf(parent *spans.Span, name string) func(*spans.Span) bool {
	return func(s *spans.Span) bool {
		return s.Name == name && bytes.Equal(s.TraceId, parent.TraceId) && bytes.Equal(s.ParentSpanId, parent.SpanId)
	}
}

func attributeOf(s *spans.Span, name string) string {
	for _, a := range s.Attributes {
		if a.Key == name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// ingestIn ingests one point with the given trace headers and waits until it is visible.
func (s *server) ingestIn(source string, header http.Header) (requestID string) {
	s.t.Helper()
	body := `{"points":[{"sourceId":"` +
		source + `","metric":"kanarienvogel","value":1,"tags":{"kanarienvogel":"kanarienvogel"}}]}`
	request, err := http.NewRequest(http.MethodPost, "http://"+s.Listen+"/api/live-data/ingest", strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header = header.Clone()
	request.Header.Set("Authorization", "Bearer "+s.First.AdminKey)
	request.Header.Set("X-Workspace-Id", s.First.WorkspaceID)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data      struct{ Checkpoint string }
		RequestID string
	}
	require.NoError(s.t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(s.t, http.StatusCreated, response.StatusCode)
	s.Do(
		http.MethodGet, "/api/live-data/query?sourceId="+source+"&checkpoint="+answer.Data.Checkpoint, nil, http.StatusOK,
		nil,
	)
	return answer.RequestID
}

const (
	callersTrace   = "0af7651916cd43dd8448eb211c80319c"
	callersSpan    = "b7ad6b7169203331"
	unsampledTrace = "0af7651916cd43dd8448eb2100000000"
)

// TestATraceCoversARequestFromItsCallerToTheStore also requires that spans contain no secrets or user
// data, and that a failing collector does not affect the service.
func TestATraceCoversARequestFromItsCallerToTheStore(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	s := newServer(t, "--tracing-endpoint="+c.URL, "--tracing-headers=x-key=hunter2", "--log-format=json")
	s.Start()
	var source struct{ ID string }
	s.Do(http.MethodPost, "/api/live-data/sources",
		map[string]any{"name": "kanarienvogel", "tags": map[string]string{"kanarienvogel": "kanarienvogel"}},
		http.StatusCreated, &source)

	// Unsampled and invalid trace contexts come first, so that their spans would arrive before those
	// of the valid one.
	s.ingestIn(source.ID, http.Header{"Traceparent": {"00-" + unsampledTrace + "-" + callersSpan + "-00"}})
	for _, header := range []http.Header{
		{"Traceparent": {"00-" + callersTrace + "-" + callersSpan}},
		{"Traceparent": {"00-00000000000000000000000000000000-" + callersSpan + "-01"}},
		{"Traceparent": {strings.Repeat("0", 20_000)}, "Tracestate": {strings.Repeat("a=b,", 5_000)}},
		{"Traceparent": {"00-" + callersTrace + "-" + callersSpan + "-01", "00-" + callersTrace + "-" + callersSpan + "-01"}},
		{"Tracestate": {"=,=;"}},
	} {
		s.ingestIn(source.ID, header)
	}
	require.Nil(t, c.find(func(s *spans.Span) bool {
		return hex.EncodeToString(s.TraceId) == callersTrace
	}), "a traceparent that cannot be read is none")

	id := s.ingestIn(source.ID, http.Header{
		"Traceparent": {"00-" + callersTrace + "-" + callersSpan + "-01"},
		"Tracestate":  {"vendor=" + strings.Repeat("x", 200)},
	})
	root := c.await(t, "the request", func(s *spans.Span) bool { return attributeOf(s, "livegraph.request_id") == id })
	require.Equal(t, "POST /api/live-data/ingest", root.Name)
	require.Equal(t, callersTrace, hex.EncodeToString(root.TraceId))
	require.Equal(t, callersSpan, hex.EncodeToString(root.ParentSpanId))
	c.await(t, "parsing", childOf(root, "parse points"))
	c.await(t, "resolving", childOf(root, "resolve series"))
	sent := c.await(t, "sending", childOf(root, "send points"))
	batch := c.await(t, "the batch", func(s *spans.Span) bool {
		return s.Name == "process points" && slices.ContainsFunc(s.Links, func(l *spans.Span_Link) bool {
			return bytes.Equal(l.TraceId, sent.TraceId) && bytes.Equal(l.SpanId, sent.SpanId)
		})
	})
	c.await(t, "preparing", childOf(batch, "prepare"))
	c.await(t, "committing", childOf(batch, "commit"))
	stored := c.await(t, "storing", childOf(batch, "store"))
	c.await(t, "the insert", childOf(stored, "insert_points"))
	asked := c.await(t, "a query", func(s *spans.Span) bool { return s.Name == "GET /api/live-data/query" })
	c.await(t, "its statement", childOf(asked, "query_raw"))
	require.NotNil(t, c.find(func(s *spans.Span) bool { return attributeOf(s, "db.system.name") == "postgresql" }))

	require.Nil(t, c.find(func(s *spans.Span) bool {
		return hex.EncodeToString(s.TraceId) == unsampledTrace
	}), "the caller wanted no record")
	require.Nil(t, c.find(func(s *spans.Span) bool {
		return slices.ContainsFunc(s.Links, func(l *spans.Span_Link) bool {
			return hex.EncodeToString(l.TraceId) == unsampledTrace
		})
	}))
	c.requireAbsent(t, "kanarienvogel", s.First.AdminKey, s.First.WorkspaceID, source.ID, "hunter2")
	log, err := os.ReadFile(filepath.Join(filepath.Dir(s.DataDir), "stdout.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), `"trace_id":"`+callersTrace+`"`)

	// A collector that hangs, and then an unreachable one.
	c.hangs.Store(true)
	for range 20 {
		s.ingestIn(source.ID, http.Header{})
	}
	require.Zero(t, s.Stop())
	s.Args = []string{"--tracing-endpoint=http://127.0.0.1:9", "--tracing-queue-size=4"}
	s.Start()
	s.ingestIn(source.ID, http.Header{})
	require.Zero(t, s.Stop())
}

// text returns everything received.
func (c *collector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// requireAbsent requires that nothing received contains the given secrets.
func (c *collector) requireAbsent(t *testing.T, secrets ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Empty(t, c.invalid, "every export is OTLP with the configured header")
	for _, secret := range secrets {
		require.NotContains(t, c.raw.String(), secret)
	}
}
