package api_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/admin"
	"github.com/livegraph/livegraph/internal/platform/config"
)

const (
	hangingRequests = 1000
	// hangingBytes is the maximum memory of these requests: stacks and connections of both
	// ends, which are in this process, and the read part of bodies.
	hangingBytes = 96 << 20
)

// publicServer creates a server with the admin UI and the documentation. It has no stores,
// because no request has a key or a session.
func publicServer(t *testing.T, cfg config.API) (*api.Server, *prometheus.Registry) {
	t.Helper()
	discardLogs(t)
	page, err := admin.New(admin.Deps{})
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	server, err := api.New(api.Deps{
		Config: cfg, Version: "test", Keys: oneKey{}, Admin: page, Routes: page.Routes(), Metrics: registry,
	})
	require.NoError(t, err)
	return server, registry
}

// discardLogs disables logging until the test ends.
func discardLogs(t *testing.T) {
	t.Helper()
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(old) })
}

func publicConfig() config.API {
	return config.API{
		MaxHeaderBytes: 1 << 16, MaxConnections: 4096, ReadTimeout: time.Minute, QueryTimeout: 30 * time.Second,
		ShutdownTimeout: time.Second, MaxPublic: 128,
	}
}

// startServer serves requests until the test ends.
func startServer(t *testing.T, server *api.Server) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return listener.Addr().String()
}

// memoryInUse returns the bytes that the process uses after a garbage collection.
func memoryInUse() int64 {
	runtime.GC()
	runtime.GC() // the second one empties sync.Pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}

// gauge returns the sum of a gauge over all labels.
func gauge(t *testing.T, registry *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetGauge().GetValue()
			}
			return sum
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// hang sends a request on each of many connections and leaves them open. If readHead is
// true, it reads the status lines and waits until each request is being handled or has been
// answered; otherwise it waits until all connections are open.
func hang(t *testing.T, address string, registry *prometheus.Registry, request []byte, readHead bool) (refused int64) {
	t.Helper()
	var answered, unavailable atomic.Int64
	for range hangingRequests {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = conn.Write(request)
		require.NoError(t, err)
		if !readHead {
			continue
		}
		go func() {
			var line [12]byte // HTTP/1.1 503
			if _, err := io.ReadFull(conn, line[:]); err == nil {
				answered.Add(1)
				if string(line[9:]) == "503" {
					unavailable.Add(1)
				}
			}
		}()
	}
	require.Eventually(t, func() bool {
		if !readHead {
			return gauge(t, registry, "livegraph_http_connections") == hangingRequests
		}
		return answered.Load()+int64(gauge(t, registry, "livegraph_http_requests_in_flight")) >= hangingRequests
	}, time.Minute, 20*time.Millisecond)
	time.Sleep(300 * time.Millisecond) // until the handlers have read the bodies
	return unavailable.Load()
}

func TestAThousandHangingLoginsHoldLittleMemory(t *testing.T) {
	var plain, compressed bytes.Buffer
	fmt.Fprintf(&plain, `{"name":"a","password":"%s`, strings.Repeat("a", 1<<20-100))
	zip := gzip.NewWriter(&compressed)
	_, _ = zip.Write(plain.Bytes())
	require.NoError(t, zip.Flush())
	for name, body := range map[string]struct {
		encoding string
		bytes    []byte
	}{
		"a packed megabyte": {"Content-Encoding: gzip\r\n", compressed.Bytes()},
		"a megabyte":        {"", plain.Bytes()[:64<<10]},
		"four kilobytes":    {"", plain.Bytes()[:4000]},
	} {
		t.Run(name, func(t *testing.T) {
			server, registry := publicServer(t, publicConfig())
			address := startServer(t, server)
			request := fmt.Appendf(
				nil,
				"POST /admin/api/session HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
				address, body.encoding, len(body.bytes)+50, body.bytes,
			)
			before := memoryInUse()
			hang(t, address, registry, request, true)
			require.Less(t, memoryInUse()-before, int64(hangingBytes))
		})
	}
}

func TestAThousandReadersOfTheDocumentationHoldLittleMemory(t *testing.T) {
	for name, accept := range map[string]string{
		"plain": "", "gzip": "Accept-Encoding: gzip\r\n", "zstd": "Accept-Encoding: zstd\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			server, registry := publicServer(t, publicConfig())
			address := startServer(t, server)
			request := fmt.Appendf(nil, "GET /api/docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: %s\r\n%s\r\n", address, accept)
			before := memoryInUse()
			hang(t, address, registry, request, false)
			require.Less(t, memoryInUse()-before, int64(hangingBytes))
		})
	}
}

func TestTheDocumentationIsPreparedOnceAndNotForEachRequest(t *testing.T) {
	server, _ := publicServer(t, publicConfig())
	for _, path := range []string{
		"/api/docs/swagger-ui-bundle.js", "/api/docs/swagger-ui.css", "/api/docs/init.js", "/api/docs", "/api/openapi.yaml",
	} {
		for _, accept := range []string{"", "gzip", "zstd", "gzip, deflate, br, zstd"} {
			get := func(match string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Header.Set("Accept-Encoding", accept)
				r.Header.Set("If-None-Match", match)
				w := httptest.NewRecorder()
				server.Handler().ServeHTTP(w, r)
				return w
			}
			first := get("")
			require.Equal(t, http.StatusOK, first.Code, path)
			require.NotEmpty(t, decodedBody(t, first), path)
			require.Contains(t, first.Header().Values("Vary"), "Accept-Encoding", "%s %q", path, accept)
			require.Equal(t, http.StatusNotModified, get(first.Header().Get("ETag")).Code, path)

			const times = 20
			response := &discardResponse{header: http.Header{}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range times {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Header.Set("Accept-Encoding", accept)
				server.Handler().ServeHTTP(response, r)
			}
			runtime.ReadMemStats(&after)
			require.Less(t, (after.TotalAlloc-before.TotalAlloc)/times, uint64(32<<10), "%s %q", path, accept)
		}
	}
}

type discardResponse struct{ header http.Header }

func (d *discardResponse) Header() http.Header         { return d.header }
func (d *discardResponse) Write(p []byte) (int, error) { return len(p), nil }
func (d *discardResponse) WriteHeader(int)             {}

// decodedBody returns the decompressed body of a response.
func decodedBody(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	var body []byte
	var err error
	switch encoding := w.Header().Get("Content-Encoding"); encoding {
	case "gzip":
		reader, broken := gzip.NewReader(w.Body)
		require.NoError(t, broken)
		body, err = io.ReadAll(reader)
	case "zstd":
		reader, broken := zstd.NewReader(w.Body)
		require.NoError(t, broken)
		defer reader.Close()
		body, err = io.ReadAll(reader)
	default:
		require.Empty(t, encoding)
		body, err = io.ReadAll(w.Body)
	}
	require.NoError(t, err)
	return body
}

func TestALoginIsFourKilobytesInNoEncoding(t *testing.T) {
	server, _ := publicServer(t, publicConfig())
	login := func(body, encoding string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/admin/api/session", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		return w
	}
	for _, encoding := range []string{"gzip", "zstd", "snappy"} {
		require.Equal(t, http.StatusUnsupportedMediaType, login("{}", encoding).Code, encoding)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, login(`{"name":"`+strings.Repeat("a", 4096)+`"}`, "").Code)
	require.Equal(t, http.StatusBadRequest, login(`{"name":"`+strings.Repeat("a", 1000)+`"}`, "").Code)
	require.Equal(t, http.StatusBadRequest, login(`{}`, "identity").Code)
}

func TestALoginWhoseBodyDoesNotComeEnds(t *testing.T) {
	server, _ := publicServer(t, publicConfig())
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", startServer(t, server))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprint(
		conn, "POST /admin/api/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	)
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)), "half of what any other body has")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, http.StatusGatewayTimeout, answer.StatusCode)
}

func TestRequestsWithoutAKeyAreBoundedInNumberAndByAddress(t *testing.T) {
	cfg := publicConfig()
	cfg.MaxPublic = 8 // two for each address
	cfg.TrustedProxies = []string{"127.0.0.0/8"}
	server, registry := publicServer(t, cfg)
	address := startServer(t, server)
	request := func(from string, body string) net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(
			conn,
			"POST /admin/api/session HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Type: "+
				"application/json\r\nContent-Length: 4\r\n\r\n%s",
			from, body,
		)
		require.NoError(t, err)
		return conn
	}
	answer := func(conn net.Conn) *http.Response {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		a, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = a.Body.Close() })
		return a
	}
	hanging := func(n float64) {
		require.Eventually(t, func() bool {
			return gauge(t, registry, "livegraph_http_requests_admitted") == n
		}, time.Minute, 5*time.Millisecond)
	}
	var open []net.Conn
	for i := range 2 {
		open = append(open, request("192.0.2.1", ""))
		hanging(float64(i + 1))
	}
	third := answer(request("192.0.2.1", ""))
	require.Equal(t, http.StatusServiceUnavailable, third.StatusCode, "the limit of one address")
	require.NotEmpty(t, third.Header.Get("Retry-After"))
	require.Equal(t, http.StatusBadRequest, answer(request("192.0.2.2", "{}  ")).StatusCode, "the others have theirs")
	for i := range 6 {
		open = append(open, request(fmt.Sprintf("192.0.2.%d", 10+i), ""))
		hanging(float64(i + 3))
	}
	require.Equal(
		t, http.StatusServiceUnavailable, answer(request("192.0.2.2", "{}  ")).StatusCode, "the limit of all addresses",
	)
	docs := httptest.NewRecorder()
	server.Handler().ServeHTTP(docs, httptest.NewRequest(http.MethodGet, "/api/docs", nil))
	require.Equal(t, http.StatusOK, docs.Code, "files have their own limit")
	_ = open[0].Close()
	require.Eventually(t, func() bool {
		return answer(request("192.0.2.2", "{}  ")).StatusCode == http.StatusBadRequest
	}, time.Minute, 50*time.Millisecond, "a closed connection frees capacity")
}
