package contract_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/test/contract"
)

// Readiness fails first, requests in flight are answered, then the listener is closed.
func TestAServerThatEndsAnswersWhatIsInFlight(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	cfg := contract.Config()
	server, err := api.New(api.Deps{Config: cfg, Version: "test", Keys: s.Auth, Account: s.DB, Routes: testRoutes(t, s)})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	base := "http://" + listener.Addr().String()
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()

	status := func(path string) int {
		r := authorized(t, s, "GET", "", nil)
		r.URL.Host, r.URL.Path = strings.TrimPrefix(base, "http://"), path
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0
		}
		defer func() { _ = response.Body.Close() }()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, status("/readyz"))
	slow := make(chan int, 1)
	go func() { slow <- status("/api/test/slow") }()
	time.Sleep(50 * time.Millisecond)
	end()
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, status("/readyz"), "readiness goes first")
	require.Equal(t, http.StatusOK, status("/healthz"), "while requests are still answered")
	require.Equal(t, http.StatusOK, <-slow, "what is in flight is answered")
	require.NoError(t, <-served)
	require.Zero(t, status("/healthz"), "the door is closed")
}

// A client that continues to send on its kept-alive connection is answered until the
// listener is closed: none of its requests is lost because the connection ends.
func TestKeptConnectionsEndWithAnAnswer(t *testing.T) {
	t.Parallel()
	cfg := contract.Config()
	cfg.ShutdownTimeout = 4 * time.Second
	server, err := api.New(api.Deps{Config: cfg, Version: "test", ProbesOnly: true})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()

	const clients = 32
	var sending sync.WaitGroup
	var answers atomic.Int64
	for range clients {
		sending.Go(func() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if !assert.NoError(t, err) {
				return
			}
			defer func() { _ = conn.Close() }()
			in := bufio.NewReader(conn)
			for {
				if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"); !assert.NoError(t, err) {
					return
				}
				answer, err := http.ReadResponse(in, nil)
				if !assert.NoError(t, err, "a request was not answered") {
					return
				}
				_, err = io.Copy(io.Discard, answer.Body)
				assert.NoError(t, err)
				answers.Add(1)
				if answer.Close {
					return
				}
			}
		})
	}
	require.Eventually(t, func() bool { return answers.Load() > 10*clients }, time.Minute, time.Millisecond)
	end()
	sending.Wait()
	require.NoError(t, <-served)
}

// Connections without a request are closed at once.
func TestIdleConnectionsDoNotDelayTheShutdown(t *testing.T) {
	t.Parallel()
	cfg := contract.Config()
	cfg.ShutdownTimeout = 8 * time.Second // longer than the five seconds of net/http, which end none then
	cfg.ReadTimeout = time.Minute         // so that it does not end them either
	server, err := api.New(api.Deps{Config: cfg, Version: "test", ProbesOnly: true})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	spare, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = spare.Close() }()
	response, err := http.Get("http://" + listener.Addr().String() + "/healthz") // both connections are accepted by now
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	end()
	time.Sleep(cfg.ShutdownTimeout / 8) // the time in which only readiness fails
	ended := time.Now()
	require.NoError(t, <-served)
	require.Less(t, time.Since(ended), 4*time.Second, "net/http alone waits five seconds")
}

func TestMoreConnectionsThanAllowedWait(t *testing.T) {
	t.Parallel()
	cfg := contract.Config()
	cfg.MaxConnections = 4
	s := contract.StartWith(t, cfg)
	var held []net.Conn
	for range 4 {
		held = append(held, dial(t, s).conn)
	}
	fifth := dial(t, s)
	fifth.send(fifth.head("GET", "/api/me") + "\r\n")
	require.NoError(t, fifth.conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	_, err := fifth.in.Peek(1)
	require.Error(t, err, "nobody answers yet")
	require.NoError(t, held[0].Close())
	require.NoError(t, fifth.conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	status, _, _ := fifth.receive()
	require.Equal(t, http.StatusOK, status)
}
