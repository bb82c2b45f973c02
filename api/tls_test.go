package api_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/test/testenv"
)

// tlsServer is a server with TLS.
type tlsServer struct {
	address string
	trust   *tls.Config // of clients
	end     context.CancelFunc
	ended   chan error
}

func startTLSServer(t *testing.T, routes ...route.Route) *tlsServer {
	t.Helper()
	authority := testenv.NewAuthority(t)
	pair := authority.Sign("localhost", time.Hour)
	files, err := tlsconfig.NewServer("tls", pair.Cert, pair.Key)
	require.NoError(t, err)
	server, err := api.New(api.Deps{
		Version: "test", ProbesOnly: true, Routes: routes, TLS: files.Config(),
		Config: config.API{
			ReadTimeout: 5 * time.Second, QueryTimeout: 10 * time.Second, ShutdownTimeout: 4 * time.Second,
			MaxHeaderBytes: 64 << 10, MaxConnections: 64,
		},
	})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	s := &tlsServer{
		address: listener.Addr().String(), trust: &tls.Config{RootCAs: authority.Pool(), ServerName: "localhost"},
		end: end, ended: make(chan error, 1),
	}
	go func() { s.ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-s.ended)
		s.ended <- nil
	})
	return s
}

// client returns a client that uses HTTP/2, or only HTTP/1.1.
func (s *tlsServer) client(t *testing.T, http2 bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: s.trust.Clone(), ForceAttemptHTTP2: http2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func (s *tlsServer) get(t *testing.T, client *http.Client, path string) (*http.Response, string) {
	t.Helper()
	answer, err := client.Get("https://" + s.address + path)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(body)
}

// sendRaw sends text and returns all that is received.
func sendRaw(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

func TestTheListenerSpeaksHTTP2AndHTTP1OverTLS(t *testing.T) {
	s := startTLSServer(t, route.Route{Method: "GET", Pattern: "/seen", Access: route.Public, Handle: func(
		w http.ResponseWriter, r *http.Request,
	) error {
		_, err := fmt.Fprint(w, r.Proto, " ", r.TLS != nil)
		return err
	}})
	for useHTTP2, proto := range map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"} {
		client := s.client(t, useHTTP2)
		for range 2 {
			answer, body := s.get(t, client, "/seen")
			require.Equal(t, proto+" true", body)
			require.NotEmpty(t, answer.Header.Get("X-Request-Id"))
			require.Empty(t, answer.Header.Get("Strict-Transport-Security"), "it would apply to the host's other ports")
		}
		answer, body := s.get(t, client, "/nowhere")
		require.Equal(t, http.StatusNotFound, answer.StatusCode)
		require.Contains(t, body, `"code":"NOT_FOUND"`)
	}
}

func TestARequestWithoutTLSIsRefusedInTheEnvelope(t *testing.T) {
	s := startTLSServer(t)
	inTLS := func() net.Conn {
		conn, err := tls.Dial("tcp", s.address, s.trust)
		require.NoError(t, err)
		return conn
	}
	inTheClear := func() net.Conn {
		conn, err := net.Dial("tcp", s.address)
		require.NoError(t, err)
		return conn
	}
	for name, c := range map[string]struct {
		text, message string
	}{
		"a request in clear":  {"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", "speaks HTTPS"},
		"a body in clear":     {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "speaks HTTPS"},
		"a deletion in clear": {"DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n", "speaks HTTPS"},
	} {
		t.Run(name, func(t *testing.T) {
			text := sendRaw(t, inTheClear(), c.text)
			answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
			require.NoError(t, err, text)
			defer func() { _ = answer.Body.Close() }()
			require.Equal(t, http.StatusBadRequest, answer.StatusCode)
			var body struct {
				Error     struct{ Code, Message string }
				RequestID string
			}
			require.NoError(t, json.NewDecoder(answer.Body).Decode(&body))
			require.Equal(t, "VALIDATION_ERROR", body.Error.Code)
			require.Contains(t, body.Error.Message, c.message)
			require.Equal(t, answer.Header.Get("X-Request-Id"), body.RequestID)
		})
	}
	for text, status := range map[string]string{
		"nonsense\r\n\r\n": "400 Bad Request",
		"GET /readyz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: foo\r\n\r\n": "501 Not Implemented",
	} {
		require.True(
			t, strings.HasPrefix(sendRaw(t, inTLS(), text), "HTTP/1.1 "+status), "net/http refuses what is not a request: %q",
			text,
		)
	}
	require.Empty(
		t, sendRaw(t, inTheClear(), "SSH-2.0-OpenSSH_9.9\r\n"+strings.Repeat("x", 100)), "other protocols get no response",
	)
	answer, _ := s.get(t, s.client(t, true), "/readyz")
	require.Equal(t, http.StatusOK, answer.StatusCode, "the next good request is served")
}

func TestHandshakesThatNeverComeHoldNobodyUp(t *testing.T) {
	s := startTLSServer(t)
	for range 20 {
		conn, err := net.Dial("tcp", s.address)
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
	}
	answer, _ := s.get(t, s.client(t, true), "/readyz")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	s.end()
	select {
	case err := <-s.ended:
		require.NoError(t, err)
		s.ended <- nil
	case <-time.After(30 * time.Second):
		t.Fatal("the server does not end")
	}
}

func TestRequestsInFlightAreAnsweredAtTheEnd(t *testing.T) {
	for _, useHTTP2 := range []bool{true, false} {
		t.Run(fmt.Sprint("HTTP/2: ", useHTTP2), func(t *testing.T) {
			began := make(chan struct{})
			s := startTLSServer(t, route.Route{Method: "GET", Pattern: "/slow", Access: route.Public, Handle: func(
				w http.ResponseWriter, _ *http.Request,
			) error {
				close(began)
				time.Sleep(time.Second) // longer than connections are accepted
				_, err := io.WriteString(w, "done")
				return err
			}})
			answered := make(chan string, 1)
			go func() {
				_, body := s.get(t, s.client(t, useHTTP2), "/slow")
				answered <- body
			}()
			<-began
			s.end()
			require.Equal(t, "done", <-answered)
		})
	}
}

// Streams that are opened and reset at once (CVE-2023-44487) must not have more running
// handlers than one connection may have streams.
func TestStreamsThatAreResetDoNotPileUp(t *testing.T) {
	var running, maxRunning atomic.Int64
	release := make(chan struct{})
	s := startTLSServer(t, route.Route{Method: "GET", Pattern: "/slow", Access: route.Public, Handle: func(
		http.ResponseWriter, *http.Request,
	) error {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := maxRunning.Load(); now > seen && !maxRunning.CompareAndSwap(seen, now); seen = maxRunning.Load() {
		}
		<-release // it ignores the cancellation of the request
		return nil
	}})
	clientConfig := s.trust.Clone()
	clientConfig.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", s.address, clientConfig)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	framer := http2.NewFramer(conn, conn)
	require.NoError(t, framer.WriteSettings())
	cut := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(cut)
	}()

	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/slow"},
	} {
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	first := bytes.Clone(block.Bytes())
	block.Reset()
	for _, f := range [][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/slow"},
	} {
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	const attempts = 20_000
	for i := range attempts {
		fragment := block.Bytes()
		if i == 0 {
			fragment = first
		}
		id := uint32(2*i + 1)
		err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: fragment, EndStream: true, EndHeaders: true,
		})
		if err == nil {
			err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		if err != nil {
			break // the server has closed the connection
		}
	}
	answer, _ := s.get(t, s.client(t, true), "/readyz")
	require.Equal(t, http.StatusOK, answer.StatusCode, "others are served meanwhile")
	require.Positive(t, maxRunning.Load())
	require.LessOrEqual(t, maxRunning.Load(), int64(100))
	select {
	case <-cut:
	case <-time.After(30 * time.Second):
		t.Error("a client that does so is not cut off")
	}
	close(release)
	require.Eventually(t, func() bool { return running.Load() == 0 }, time.Minute, 10*time.Millisecond)
}

// http2Client sends HTTP/2 frames on one connection.
type http2Client struct {
	t      *testing.T
	framer *http2.Framer
	out    *hpack.Encoder
	block  bytes.Buffer
	last   uint32
}

func (s *tlsServer) dialHTTP2(t *testing.T) *http2Client {
	t.Helper()
	clientConfig := s.trust.Clone()
	clientConfig.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", s.address, clientConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	client := &http2Client{t: t, framer: http2.NewFramer(conn, conn)}
	client.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	client.out = hpack.NewEncoder(&client.block)
	require.NoError(t, client.framer.WriteSettings())
	return client
}

// get opens a stream with additional header fields, given as pairs of name and value.
func (c *http2Client) get(path string, fields ...string) error {
	c.block.Reset()
	pairs := append([]string{":method", "GET", ":scheme", "https", ":authority", "localhost", ":path", path}, fields...)
	for i := 0; i < len(pairs); i += 2 {
		require.NoError(c.t, c.out.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: i >= 8}))
	}
	c.last = max(c.last+2, 1)
	if c.last%2 == 0 {
		c.last--
	}
	const frame = 16 << 10
	first := c.block.Next(frame)
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: c.last, BlockFragment: first, EndStream: true, EndHeaders: c.block.Len() == 0,
	})
	for err == nil && c.block.Len() > 0 {
		part := c.block.Next(frame)
		err = c.framer.WriteContinuation(c.last, c.block.Len() == 0, part)
	}
	return err
}

// status reads the response of the last opened stream; "" if the server has reset the stream
// or closed the connection.
func (c *http2Client) status() (status, body string) {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return "", ""
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if frame.StreamID == c.last {
				status = frame.PseudoValue("status")
			}
		case *http2.DataFrame:
			if frame.StreamID == c.last {
				body += string(frame.Data())
			}
			if frame.StreamEnded() && frame.StreamID == c.last {
				return status, body
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return "", ""
		}
	}
}

// A header that is too large or not valid over HTTP/2 ends its stream or its connection, and
// nothing else.
func TestHeadersOverHTTP2AreBounded(t *testing.T) {
	s := startTLSServer(t)
	healthy := func() {
		answer, _ := s.get(t, s.client(t, true), "/readyz")
		require.Equal(t, http.StatusOK, answer.StatusCode)
	}
	c := s.dialHTTP2(t)
	require.NoError(t, c.get("/readyz", "x-a", strings.Repeat("a", 100<<10)))
	status, body := c.status()
	require.Equal(t, "413", status)
	require.Contains(t, body, `"code":"VALIDATION_ERROR"`)
	require.NoError(t, c.get("/readyz"))
	status, _ = c.status()
	require.Equal(t, "200", status, "the connection stays open")

	many := make([]string, 0, 20_000)
	for i := range 10_000 {
		many = append(many, fmt.Sprint("x-", i), "a")
	}
	for name, fields := range map[string][]string{
		"10 000 headers": many, "a value of 1 MiB": {"x-a", strings.Repeat("a", 1<<20)},
		"values of 8 MiB":      slices.Repeat([]string{"x-a", strings.Repeat("a", 64<<10)}, 128),
		"a name in upper case": {"X-A", "b"}, "a line break in a value": {"x-a", "b\r\nset-cookie: c=d"},
		"connection": {"connection", "close"}, "an encoding": {"transfer-encoding", "chunked"},
		"a path twice": {":path", "/api/me"}, "a field after a pseudo-field": {"x-a", "b", ":path", "/x"},
	} {
		c := s.dialHTTP2(t)
		if c.get("/readyz", fields...) == nil {
			status, body := c.status()
			require.Contains(t, []string{"", "400", "413", "431"}, status, "%s: %s", name, body)
			require.NotContains(t, body, "set-cookie")
		}
		healthy()
	}
}
