package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

var fuzzed = uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")

// fuzzedRoute reads parameters and the body as other routes do.
func fuzzedRoute(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	p.Page()
	p.String("name")
	if err := p.Err(); err != nil {
		return err
	}
	if r.Method == http.MethodPost {
		var body struct {
			Name *string `json:"name"`
		}
		if err := request.JSON(r, &body); err != nil {
			return err
		}
	}
	reply.Resource(w, r, "answer")
	return nil
}

// FuzzConnection checks that for any bytes on a connection the server sends valid responses,
// none of them an internal error, and then closes the connection.
func FuzzConnection(f *testing.F) {
	const head = "Host: x\r\nAuthorization: Bearer x\r\nX-Workspace-Id: 0194a5b0-0000-7000-8000-00000000000a\r\n"
	const post = "POST /api/fuzzed HTTP/1.1\r\n" + head + "Content-Type: application/json\r\n"
	for _, text := range []string{
		"GET /api/fuzzed?limit=1 HTTP/1.1\r\n" + head + "\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
		post + "Content-Length: 12\r\n\r\n{\"name\":\"x\"}",
		post + "Transfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"x\"}\r\n0\r\nX-A: b\r\n\r\n",
		post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
		post + "Content-Length: 5\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00",
		post + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /api/%2e%2e/fuzzed%00 HTTP/1.0\r\n\r\n",
		"BREW /api/fuzzed HTTP/1.1\r\n" + head + "\r\n",
		"HEAD /api/fuzzed HTTP/1.1\r\n" + head + "If-None-Match: *\r\nAccept-Encoding: gzip;q=x\r\nOrigin: y\r\n\r\n",
		"GET http://evil/api/fuzzed?name=%ff HTTP/1.1\r\n" + head +
			"X-Forwarded-For: 1.2.3.4, x\r\nTraceparent: 00-x\r\n\r\n",
		"GET /api/docs/../openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x00", "",
	} {
		f.Add([]byte(text))
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	server, err := api.New(api.Deps{
		Version: "test",
		Keys: oneKey{&access.Credential{
			ID: fuzzed, Mode: "live", Scopes: []string{"admin"},
			Workspaces: map[uuid.UUID]access.Access{fuzzed: {Mode: "live"}},
		}},
		Account: noAccount{},
		Config: config.API{
			ReadTimeout: 20 * time.Second, QueryTimeout: 20 * time.Second, ShutdownTimeout: time.Second,
			MaxHeaderBytes: 64 << 10, MaxConnections: 64,
			TrustedProxies: []string{"127.0.0.0/8"}, CORSOrigins: []string{"*"},
		},
		Routes: []route.Route{
			{Method: http.MethodGet, Pattern: "/api/fuzzed", Scopes: []request.Scope{request.Admin}, Handle: fuzzedRoute},
			{Method: http.MethodPost, Pattern: "/api/fuzzed", Scopes: []request.Scope{request.Admin}, Handle: fuzzedRoute},
		},
	})
	require.NoError(f, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f, err)
	ctx := f.Context()
	go func() { _ = server.Serve(ctx, listener) }()
	f.Fuzz(func(t *testing.T, sent []byte) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		require.NoError(t, conn.SetDeadline(time.Now().Add(15*time.Second)))
		go func() {
			_, _ = conn.Write(sent) // the server may stop reading early
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		received, err := io.ReadAll(conn)
		if err != nil && !isReset(err) {
			t.Fatalf("the server does not end the connection: %v", err)
		}
		requireAnswers(t, sent, received)
	})
}

// isReset reports whether the connection was reset, which happens if the server closes it
// before it has read everything. The last response may be cut off then.
func isReset(err error) bool {
	var failure *net.OpError
	return errors.As(err, &failure) && !failure.Timeout()
}

// requireAnswers reads and checks all responses. If a request may be a HEAD, whose response
// has no body, it checks only the header of the first response.
func requireAnswers(t *testing.T, sent, received []byte) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(received))
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		answer, err := http.ReadResponse(in, nil)
		require.NoError(t, err, "%q after %q", received, sent)
		require.True(t, answer.StatusCode < 500 || answer.Header.Get("X-Request-Id") == "", "%q after %q", received, sent)
		body, err := io.ReadAll(answer.Body)
		if bytes.Contains(sent, []byte("HEAD")) {
			return
		}
		require.NoError(t, err, "%q after %q", received, sent)
		if answer.StatusCode < 400 || answer.StatusCode == http.StatusExpectationFailed {
			continue
		}
		if answer.Header.Get("X-Request-Id") == "" { // from net/http, which could not parse the request
			require.True(t, answer.Close, "%q after %q", received, sent)
			continue
		}
		var envelope struct {
			Success   *bool
			Error     struct{ Code, Message string }
			RequestID string
		}
		require.NoError(t, json.Unmarshal(body, &envelope), "%q after %q", received, sent)
		require.True(
			t, envelope.Success != nil && !*envelope.Success && envelope.Error.Code != "" && envelope.Error.Message != "",
		)
		require.Equal(t, envelope.RequestID, answer.Header.Get("X-Request-Id"))
		require.False(t, strings.ContainsAny(envelope.RequestID, "\r\n"))
	}
}

// noAccount returns an empty account.
type noAccount struct{}

func (noAccount) KeyByID(context.Context, uuid.UUID) (access.Key, error) {
	return access.Key{ID: fuzzed}, nil
}

func (noAccount) WorkspacesByID(context.Context, []uuid.UUID) ([]access.Workspace, error) {
	return nil, nil
}
