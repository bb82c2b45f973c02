package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// memoryTrail is an auditor that stores records in memory, or returns err if it is set.
type memoryTrail struct {
	records []auditrecord.Record
	err     error
}

func (*memoryTrail) CheckCapacity() error { return nil }
func (k *memoryTrail) Write(r *auditrecord.Record) error {
	if k.err == nil {
		k.records = append(k.records, *r)
	}
	return k.err
}
func (k *memoryTrail) Fold(r *auditrecord.Record) error { return k.Write(r) }
func (*memoryTrail) CountUnknown(netip.Addr, int)       {}

// startWithHandler creates a server with the route /api/answer. get sends a request to it, and
// lastLog returns the last line of the log.
func startWithHandler(
	t *testing.T, trail *memoryTrail, handle route.Handler,
) (get func(method string) *httptest.ResponseRecorder, lastLog func() map[string]any, registry *prometheus.Registry) {
	t.Helper()
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
	workspace := uuid.New()
	key := oneKey{&access.Credential{
		ID: uuid.New(), Mode: "live", Scopes: []string{"admin"},
		Workspaces: map[uuid.UUID]access.Access{workspace: {Mode: "live"}},
	}}
	registry = prometheus.NewRegistry()
	deps := api.Deps{Config: publicConfig(), Keys: key, Metrics: registry, Routes: []route.Route{{
		Method: http.MethodGet, Pattern: "/api/answer", Scopes: []request.Scope{request.Admin}, Handle: handle,
	}}}
	if trail != nil {
		deps.Audit = trail
	}
	server, err := api.New(deps)
	require.NoError(t, err)
	get = func(method string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/api/answer", nil)
		r.Header.Set("Authorization", "Bearer x")
		r.Header.Set("X-Workspace-Id", workspace.String())
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if problem := recover(); problem != nil {
					require.Equal(t, http.ErrAbortHandler, problem)
				}
			}()
			server.Handler().ServeHTTP(w, r)
		}()
		return w
	}
	lastLog = func() map[string]any {
		lines := bytes.Split(bytes.TrimSpace(log.Bytes()), []byte("\n"))
		var last map[string]any
		require.NoError(t, json.Unmarshal(lines[len(lines)-1], &last))
		return last
	}
	return get, lastLog, registry
}

// counterValue returns the value of a counter's only series, and its label status.
func counterValue(t *testing.T, registry *prometheus.Registry, name string) (value float64, status string) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		require.Len(t, family.GetMetric(), 1)
		for _, label := range family.GetMetric()[0].GetLabel() {
			if label.GetName() == "status" {
				status = label.GetValue()
			}
		}
		return family.GetMetric()[0].GetCounter().GetValue(), status
	}
	t.Fatalf("no metric %s", name)
	return 0, ""
}

// The log, the metrics and the audit log report the same about a response.
func TestAllRecordersReportTheSameAnswer(t *testing.T) {
	respond := func(n int) func(w http.ResponseWriter, r *http.Request) error {
		return func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusTeapot) // ignored
			_, err := io.WriteString(w, strings.Repeat("x", n))
			return err
		}
	}
	for name, c := range map[string]struct {
		handle                        route.Handler
		log, metric, audited, records int
		bytes                         int64
	}{
		"an answer":       {respond(5000), 202, 202, 202, 1, 5000},
		"a short answer":  {respond(10), 202, 202, 202, 1, 10},
		"nothing written": {func(http.ResponseWriter, *http.Request) error { return nil }, 200, 200, 200, 1, 0},
		"no content": {func(w http.ResponseWriter, _ *http.Request) error {
			reply.NoContent(w)
			return nil
		}, 204, 204, 204, 1, 0},
		"after an informational response": {func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusEarlyHints)
			reply.NoContent(w)
			return nil
		}, 204, 204, 204, 1, 0},
		"cut off after its beginning": {func(w http.ResponseWriter, r *http.Request) error {
			_ = respond(5000)(w, r)
			panic(http.ErrAbortHandler)
		}, 202, 202, 202, 1, 5000},
		"cut off before": {func(http.ResponseWriter, *http.Request) error {
			panic(http.ErrAbortHandler)
		}, 0, 200, 0, 1, 0},
		"an error": {func(http.ResponseWriter, *http.Request) error {
			return fault.New(fault.NotFound, "none")
		}, 404, 404, 404, 1, -1},
		"an error after the client disconnected": {func(w http.ResponseWriter, r *http.Request) error {
			gone, disconnect := context.WithCancel(r.Context())
			disconnect()
			reply.Error(w, r.WithContext(gone), gone.Err())
			return nil
		}, 499, 499, 499, 1, -1},
		"a panic": {func(http.ResponseWriter, *http.Request) error { panic("x") }, 500, 500, 500, 1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			trail := &memoryTrail{}
			get, lastLog, registry := startWithHandler(t, trail, c.handle)
			w := get(http.MethodGet)
			size := c.bytes
			if size < 0 {
				size = int64(w.Body.Len())
			}
			require.EqualValues(t, size, w.Body.Len())
			require.EqualValues(t, c.log, lastLog()["status"])
			require.EqualValues(t, size, lastLog()["bytes"])
			n, status := counterValue(t, registry, "livegraph_http_requests_total")
			require.EqualValues(t, 1, n)
			require.Equal(t, c.metric, atoi(t, status))
			sent, _ := counterValue(t, registry, "livegraph_http_response_bytes_total")
			require.EqualValues(t, size, sent)
			require.Len(t, trail.records, c.records)
			require.Equal(t, c.audited, trail.records[0].Status)
			require.Equal(t, size, trail.records[0].BytesOut)

			without, lastLog, _ := startWithHandler(t, nil, c.handle)
			require.Equal(t, w.Code, without(http.MethodGet).Code)
			if name != "nothing written" {
				require.EqualValues(t, c.log, lastLog()["status"], "without the audit log")
			}
		})
	}
}

func atoi(t *testing.T, text string) (n int) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &n))
	return n
}

// A response to HEAD has no bytes in the audit log, and those of GET in the access log.
func TestHEADIsRecordedWithoutBytes(t *testing.T) {
	trail := &memoryTrail{}
	get, lastLog, _ := startWithHandler(t, trail, func(w http.ResponseWriter, r *http.Request) error {
		reply.Data(w, r, http.StatusOK, "x")
		return nil
	})
	w := get(http.MethodHead)
	require.EqualValues(t, w.Body.Len(), lastLog()["bytes"])
	require.Len(t, trail.records, 1)
	require.Zero(t, trail.records[0].BytesOut)
}

// A response whose request cannot be recorded is replaced by an error, and none of it is sent.
func TestAnAnswerThatCannotBeRecordedIsReplaced(t *testing.T) {
	var failed error
	trail := &memoryTrail{err: errors.New("full")}
	get, lastLog, _ := startWithHandler(t, trail, func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("ETag", `"x"`)
		_, failed = io.WriteString(w, strings.Repeat("secret", 5000))
		_ = http.NewResponseController(w).Flush()
		_, again := io.WriteString(w, "secret")
		return errors.Join(failed, again)
	})
	w := get(http.MethodGet)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.NotContains(t, w.Body.String(), "secret")
	require.Empty(t, w.Header().Get("ETag"))
	require.True(t, json.Valid(w.Body.Bytes()), w.Body.String())
	require.EqualValues(t, http.StatusServiceUnavailable, lastLog()["status"])
	require.EqualValues(t, w.Body.Len(), lastLog()["bytes"])
}

// Only the recorders wrap the response: one on each side of the compression.
func TestTwoRecordersAreAllThatWrapsAnAnswer(t *testing.T) {
	var wraps []string
	get, _, _ := startWithHandler(t, &memoryTrail{}, func(w http.ResponseWriter, _ *http.Request) error {
		for {
			u, ok := w.(interface{ Unwrap() http.ResponseWriter })
			if !ok {
				return nil
			}
			wraps = append(wraps, strings.TrimPrefix(fmt.Sprintf("%T", w), "*"))
			w = u.Unwrap()
		}
	})
	get(http.MethodGet)
	require.Subset(t, []string{"api.recorder", "gzhttp.GzipResponseWriter", "gzhttp.NoGzipResponseWriter"}, wraps)
	require.LessOrEqual(t, len(wraps), 3)
}
