package api_test

import (
	"bytes"
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

// kept keeps the uses that it is told, or takes none.
type kept struct {
	records []auditrecord.Record
	full    error
}

func (*kept) Room() error { return nil }
func (k *kept) Write(r *auditrecord.Record) error {
	if k.full == nil {
		k.records = append(k.records, *r)
	}
	return k.full
}
func (k *kept) Fold(r *auditrecord.Record) error { return k.Write(r) }
func (*kept) Unknown(netip.Addr, int)            {}

// answering is a server whose one route answers as it is told.
func answering(
	t *testing.T, trail *kept, handle route.Handler,
) (get func(method string) *httptest.ResponseRecorder, line func() map[string]any, registry *prometheus.Registry) {
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
	line = func() map[string]any {
		lines := bytes.Split(bytes.TrimSpace(log.Bytes()), []byte("\n"))
		var last map[string]any
		require.NoError(t, json.Unmarshal(lines[len(lines)-1], &last))
		return last
	}
	return get, line, registry
}

// counted returns the value of a counter's only series, and its status.
func counted(t *testing.T, registry *prometheus.Registry, name string) (value float64, status string) {
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
func TestAllTellTheSameOfAnAnswer(t *testing.T) {
	plain := func(n int) func(w http.ResponseWriter, r *http.Request) error {
		return func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusTeapot) // the first one holds
			_, err := io.WriteString(w, strings.Repeat("x", n))
			return err
		}
	}
	for name, c := range map[string]struct {
		handle                        route.Handler
		log, metric, audited, records int
		bytes                         int64
	}{
		"an answer":       {plain(5000), 202, 202, 202, 1, 5000},
		"a short answer":  {plain(10), 202, 202, 202, 1, 10},
		"nothing written": {func(http.ResponseWriter, *http.Request) error { return nil }, 200, 200, 200, 1, 0},
		"no content": {func(w http.ResponseWriter, _ *http.Request) error {
			reply.NoContent(w)
			return nil
		}, 204, 204, 204, 1, 0},
		"ahead of it": {func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusEarlyHints)
			reply.NoContent(w)
			return nil
		}, 204, 204, 204, 1, 0},
		"cut off after its beginning": {func(w http.ResponseWriter, r *http.Request) error {
			_ = plain(5000)(w, r)
			panic(http.ErrAbortHandler)
		}, 202, 202, 202, 1, 5000},
		"cut off before": {func(http.ResponseWriter, *http.Request) error {
			panic(http.ErrAbortHandler)
		}, 0, 200, 0, 1, 0},
		"an error": {func(http.ResponseWriter, *http.Request) error {
			return fault.New(fault.NotFound, "none")
		}, 404, 404, 404, 1, -1},
		"a panic": {func(http.ResponseWriter, *http.Request) error { panic("x") }, 500, 500, 500, 1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			trail := &kept{}
			get, line, registry := answering(t, trail, c.handle)
			w := get(http.MethodGet)
			size := c.bytes
			if size < 0 {
				size = int64(w.Body.Len())
			}
			require.EqualValues(t, size, w.Body.Len())
			require.EqualValues(t, c.log, line()["status"])
			require.EqualValues(t, size, line()["bytes"])
			n, status := counted(t, registry, "livegraph_http_requests_total")
			require.EqualValues(t, 1, n)
			require.Equal(t, http.StatusText(c.metric), http.StatusText(atoi(t, status)))
			sent, _ := counted(t, registry, "livegraph_http_response_bytes_total")
			require.EqualValues(t, size, sent)
			require.Len(t, trail.records, c.records)
			require.Equal(t, c.audited, trail.records[0].Status)
			require.Equal(t, size, trail.records[0].BytesOut)

			without, line, _ := answering(t, nil, c.handle)
			require.Equal(t, w.Code, without(http.MethodGet).Code)
			if name != "nothing written" {
				require.EqualValues(t, c.log, line()["status"], "without the audit log")
			}
		})
	}
}

func atoi(t *testing.T, text string) (n int) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &n))
	return n
}

// An answer to HEAD has no bytes for the audit log, and the access log those of GET.
func TestHEADIsRecordedWithoutBytes(t *testing.T) {
	trail := &kept{}
	get, line, _ := answering(t, trail, func(w http.ResponseWriter, r *http.Request) error {
		reply.Data(w, r, http.StatusOK, "x")
		return nil
	})
	w := get(http.MethodHead)
	require.EqualValues(t, w.Body.Len(), line()["bytes"])
	require.Len(t, trail.records, 1)
	require.Zero(t, trail.records[0].BytesOut)
}

// What cannot be recorded is not answered, and nothing of it is sent.
func TestAnAnswerThatCannotBeRecordedIsReplaced(t *testing.T) {
	var failed error
	get, line, _ := answering(t, &kept{full: errors.New("full")}, func(w http.ResponseWriter, _ *http.Request) error {
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
	require.EqualValues(t, http.StatusServiceUnavailable, line()["status"])
	require.EqualValues(t, w.Body.Len(), line()["bytes"])
}

// No handler wraps the answer for itself: there is one recorder on each side of the
// compression.
func TestTwoRecordersAreAllThatWrapsAnAnswer(t *testing.T) {
	var wraps []string
	get, _, _ := answering(t, &kept{}, func(w http.ResponseWriter, _ *http.Request) error {
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
