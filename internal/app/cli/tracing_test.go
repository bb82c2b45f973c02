package cli

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	coltracev1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector keeps the spans that it receives as an OpenTelemetry collector.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracev1.Span
	raw   strings.Builder
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var export coltracev1.ExportTraceServiceRequest
		content, err := gzip.NewReader(r.Body)
		var payload []byte
		if err == nil {
			payload, err = io.ReadAll(content)
		}
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(payload, &export) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(payload)
		for _, resource := range export.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// names returns the names of the spans of a trace.
func (c *collector) names(trace string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == trace {
			names = append(names, s.Name)
		}
	}
	return names
}

// linked returns the names of the spans that have a link to a trace.
func (c *collector) linked(trace string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if slices.ContainsFunc(s.Links, func(l *tracev1.Span_Link) bool { return hex.EncodeToString(l.TraceId) == trace }) {
			names = append(names, s.Name)
		}
	}
	return names
}

// content returns what was received.
func (c *collector) content() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// testTraces requires that the spans of requests and of what they cause in the background are in the caller's traces,
// without keys and content.
func testTraces(w *workspace) {
	t := w.t
	traced := func(request func()) (trace string) {
		trace = strings.ReplaceAll(uuid.NewString(), "-", "")
		w.header = http.Header{"Traceparent": {"00-" + trace + "-b7ad6b7169203331-01"}}
		request()
		w.header = nil
		return trace
	}
	w.createSource(map[string]any{"name": "canary source"})
	var checkpoint string
	ingest := traced(func() { checkpoint = w.send("canary source", "canary metric", 1) })
	query := traced(func() {
		w.do(http.MethodGet, "/api/live-data/query?checkpoint="+checkpoint, nil, http.StatusOK, nil)
	})
	command := traced(func() { w.createNode("canary node", "") })
	for trace, want := range map[string][]string{
		ingest:  {"POST /api/live-data/ingest", "parse points", "resolve series", "send points"},
		query:   {"GET /api/live-data/query", "query_raw"},
		command: {"POST /api/commands/execute", "send graph.commands"},
	} {
		w.eventually(func() bool { return isSubset(want, w.collector.names(trace)) })
	}
	w.eventually(func() bool { return slices.Contains(w.collector.linked(ingest), "process points") })
	w.eventually(func() bool { return slices.Contains(w.collector.linked(command), "process graph.commands") })
	for _, secret := range []string{"canary", w.key, w.id} {
		require.NotContains(t, w.collector.content(), secret)
	}
}

func isSubset(part, all []string) bool {
	return !slices.ContainsFunc(part, func(name string) bool { return !slices.Contains(all, name) })
}
