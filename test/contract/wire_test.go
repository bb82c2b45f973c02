package contract_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// wire is a connection for raw HTTP, to send what no client library would.
type wire struct {
	t    *testing.T
	s    *contract.Server
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, s *contract.Server) *wire {
	t.Helper()
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return &wire{t: t, s: s, conn: conn, in: bufio.NewReader(conn)}
}

// head returns the header of a good request, without the empty line that ends it.
func (w *wire) head(method, path string) string {
	return fmt.Sprintf(
		"%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nx-workspace-id: %s\r\n", method, path, w.s.Admin,
		w.s.Workspace,
	)
}

func (w *wire) send(text string) {
	w.t.Helper()
	_, err := io.WriteString(w.conn, text)
	require.NoError(w.t, err)
}

// receive reads one answer. code is the code of the error in its envelope. If net/http
// cannot read a request, it answers in plain text and closes the connection.
func (w *wire) receive() (status int, code string, response *http.Response) {
	w.t.Helper()
	response, err := http.ReadResponse(w.in, nil)
	require.NoError(w.t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	var envelope struct {
		Success   *bool
		Error     struct{ Code string }
		RequestID string
	}
	unread := response.Header.Get("X-Request-Id") == ""
	if unread && response.StatusCode != http.StatusExpectationFailed {
		require.True(w.t, response.Close, "%d %s", response.StatusCode, body)
		require.Equal(w.t, "text/plain; charset=utf-8", response.Header.Get("Content-Type"))
		return response.StatusCode, "", response
	}
	if response.StatusCode >= 400 && response.StatusCode != http.StatusExpectationFailed { // which has no body
		require.NoError(w.t, json.Unmarshal(body, &envelope), "%d %s", response.StatusCode, body)
		require.NotNil(w.t, envelope.Success)
		require.Equal(w.t, envelope.RequestID, response.Header.Get("X-Request-Id"))
		require.NotEmpty(w.t, envelope.RequestID)
	}
	return response.StatusCode, envelope.Error.Code, response
}

// onTheWire is a request as bytes, and the status of its answer.
type onTheWire struct {
	request func(w *wire) string
	status  int
}

// badOnTheWire returns requests that break a rule of HTTP, or a rule that applies to every route.
func badOnTheWire() map[string]onTheWire {
	post := func(headers, body string) string {
		return headers + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	return map[string]onTheWire{
		"unknown path": {func(w *wire) string { return w.head("GET", "/api/unknown") + "\r\n" }, 404},
		"no key": {func(*wire) string {
			return post("POST /api/test/echo HTTP/1.1\r\nHost: x\r\n", `{"name":"x"}`)
		}, 401},
		"wrong method": {func(w *wire) string { return post(w.head("PUT", "/api/test/echo"), "{}") }, 405},
		"no type":      {func(w *wire) string { return post(w.head("POST", "/api/test/echo"), "{}") }, 415},
		"wrong type": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+"Content-Type: text/plain\r\n", "{}")
		}, 415},
		"two types": {func(w *wire) string {
			return post(
				w.head("POST", "/api/test/echo")+"Content-Type: application/json\r\nContent-Type: application/json\r\n", "{}",
			)
		}, 415},
		"charset": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+"Content-Type: application/json; charset=latin1\r\n", "{}")
		}, 415},
		"unknown encoding": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+jsonType+"Content-Encoding: br\r\n", "{}")
		}, 415},
		"nested encoding": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+jsonType+"Content-Encoding: gzip, gzip\r\n", "{}")
		}, 415},
		"corrupt gzip": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+jsonType+"Content-Encoding: gzip\r\n", "{}")
		}, 400},
		"corrupt zstd": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+jsonType+"Content-Encoding: zstd\r\n", "{}")
		}, 400},
		"corrupt snappy": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+jsonType+"Content-Encoding: snappy\r\n", "{}")
		}, 400},
		"malformed JSON": {func(w *wire) string { return post(w.head("POST", "/api/test/echo")+jsonType, `{"name":`) }, 400},
		"empty body":     {func(w *wire) string { return post(w.head("POST", "/api/test/echo")+jsonType, "") }, 400},
		"bad value": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+jsonType, `{"name":"a\u0000"}`)
		}, 422},
		"too large": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+jsonType, strings.Repeat(" ", 1<<20+1))
		}, 413},
		"huge, declared": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + "Content-Length: 1099511627776\r\n\r\n"
		}, 413},
		"gzip bomb": {func(w *wire) string {
			return post(w.head("POST", "/api/test/echo")+jsonType+"Content-Encoding: gzip\r\n", bomb)
		}, 413},
		"panic": {func(w *wire) string { return w.head("GET", "/api/test/panic") + "\r\n" }, 500},
		"query": {func(w *wire) string { return w.head("GET", "/api/test/items?limit=0") + "\r\n" }, 400},
		"trailers": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType +
				"Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n2\r\n{}\r\n0\r\nX-A: b\r\n\r\n"
		}, 400},
		"bad chunk": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"
		}, 400},
		"header too large": {func(w *wire) string {
			return w.head("GET", "/api/me") + "X-A: " + strings.Repeat("a", 100<<10) + "\r\n\r\n"
		}, 413},
		"10 000 headers": {func(w *wire) string { return w.head("GET", "/api/me") + numberedHeaders(10_000) + "\r\n" }, 413},
		"header of 1 MiB": {func(w *wire) string {
			return w.head("GET", "/api/me") + "X-A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n"
		}, 431},
		"query of 1 MiB": {func(w *wire) string {
			return w.head("GET", "/api/me?"+strings.Repeat("a", 1<<20)) + "\r\n"
		}, 431},
		"no host":          {func(*wire) string { return "GET /api/me HTTP/1.1\r\n\r\n" }, 400},
		"two hosts":        {func(w *wire) string { return w.head("GET", "/api/me") + "Host: y\r\n\r\n" }, 400},
		"bad request line": {func(*wire) string { return "GET\r\n\r\n" }, 400},
		"bad version":      {func(*wire) string { return "GET / HTTP/9.9\r\n\r\n" }, 505},
		"bad escape":       {func(w *wire) string { return w.head("GET", "/api/%zz") + "\r\n" }, 400},
		"space in header":  {func(w *wire) string { return w.head("GET", "/api/me") + "X A: b\r\n\r\n" }, 400},
		"folded header": {func(w *wire) string {
			return w.head("GET", "/api/me") + "X-A: b\r\n\tInjected: c\r\n\r\n"
		}, 200},
		"NUL in header": {func(w *wire) string { return w.head("GET", "/api/me") + "X-A: b\x00c\r\n\r\n" }, 400},
		"two lengths": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"
		}, 400},
		"negative length": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + "Content-Length: -1\r\n\r\n"
		}, 400},
		"unknown transfer": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + "Transfer-Encoding: gzip\r\n\r\n"
		}, 501},
		"unknown expect": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + "Expect: cake\r\nContent-Length: 2\r\n\r\n{}"
		}, 417},
		"asterisk":       {func(*wire) string { return "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n" }, 404},
		"HTTP/2 preface": {func(*wire) string { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" }, 404},
	}
}

// A bad request between two good ones on one connection: the second good one gets the
// same answer as the first, or the server has announced and closed the connection.
func TestABadRequestHarmsNoOtherOnItsConnection(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	post := func(headers, body string) string {
		return headers + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	for name, c := range badOnTheWire() {
		t.Run(name, func(t *testing.T) {
			w := dial(t, s)
			good := func() int {
				w.send(post(w.head("POST", "/api/test/echo")+jsonType, `{"name":"x"}`))
				status, _, _ := w.receive()
				return status
			}
			require.Equal(t, http.StatusCreated, good())
			go func() { _, _ = io.WriteString(w.conn, c.request(w)) }() // the server may stop reading early
			status, _, response := w.receive()
			require.Equal(t, c.status, status)
			if response.Close {
				w = dial(t, s)
			}
			require.Equal(t, http.StatusCreated, good())
		})
	}
}

const jsonType = "Content-Type: application/json\r\n"

// bomb decodes to 64 MiB.
var bomb = func() string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(make([]byte, 64<<20))
	_ = w.Close()
	return out.String()
}()

func numberedHeaders(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-%d: a\r\n", i)
	}
	return b.String()
}

func TestABodyThatDoesNotArriveTimesOut(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	w := dial(t, s)
	w.send(w.head("POST", "/api/test/echo") + jsonType + "Content-Length: 100\r\n\r\n{")
	started := time.Now()
	status, code, response := w.receive()
	require.Equal(t, 504, status)
	require.Equal(t, "INTERNAL_ERROR", code)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.Less(t, time.Since(started), 2*contract.Config().ReadTimeout)

	w = dial(t, s) // an incomplete header
	w.send("GET /api/me HTTP/1.1\r\nHost:")
	_, err := io.ReadAll(w.in)
	require.NoError(t, err, "the server hangs up")
	require.Less(t, time.Since(started), 4*contract.Config().ReadTimeout)
}

func TestABodyCutOffHarmsNobody(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	w := dial(t, s)
	w.send(w.head("POST", "/api/test/echo") + jsonType + "Content-Length: 100\r\n\r\n{")
	require.NoError(t, w.conn.(*net.TCPConn).CloseWrite())
	status, _, _ := w.receive()
	require.Equal(t, 400, status)
}

func TestExpectContinueIsAnsweredOnlyToWhoMaySend(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	w := dial(t, s)
	w.send(w.head("POST", "/api/test/echo") + jsonType + "Expect: 100-continue\r\nContent-Length: 12\r\n\r\n")
	line, err := w.in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue")
	_, _ = w.in.ReadString('\n')
	w.send(`{"name":"x"}`)
	status, _, _ := w.receive()
	require.Equal(t, http.StatusCreated, status)

	w = dial(t, s)
	w.send("POST /api/test/echo HTTP/1.1\r\nHost: x\r\n" + jsonType + "Expect: 100-continue\r\nContent-Length: 12\r\n\r\n")
	status, _, response := w.receive()
	require.Equal(t, http.StatusUnauthorized, status, "before the body was asked for")
	require.True(t, response.Close)
}

// Requests whose length is ambiguous are interpreted in one way: as an error that ends the
// connection or, where RFC 9112 (6.3) defines the length, with that length. What follows
// is a separate request and needs a key.
func TestSmugglingPairsHaveOneReading(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for name, framing := range map[string]string{
		"length and chunks": "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
		"two encodings":     "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nG",
		"spaced name":       "Transfer-Encoding : chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
		"odd value":         "Transfer-Encoding: xchunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
		"bare line feeds":   "Content-Length: 6\n\n0\r\n\r\nG",
	} {
		t.Run(name, func(t *testing.T) {
			w := dial(t, s)
			// In one write: what arrives after the server has closed the connection resets it, and its answer is lost.
			w.send(w.head("POST", "/api/test/echo") + jsonType + framing + "ET /api/me HTTP/1.1\r\nHost: x\r\n\r\n")
			_ = w.conn.(*net.TCPConn).CloseWrite() // fails if the connection is closed already
			status, _, _ := w.receive()
			require.Contains(t, []int{400, 501}, status, "501 for an encoding that nobody knows")
			rest, _ := io.ReadAll(w.in)
			require.NotContains(t, string(rest), " 200 ", "nothing of the body was taken for a request with a key")
		})
	}
}

func TestNoHeaderOfAnAnswerCanBeForged(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for _, path := range []string{
		"/api/%0d%0aSet-Cookie:%20a=b", "/api/test/items?x%0d%0aSet-Cookie:%20a=b=1",
		"/api/test/items?limit=1%0d%0aSet-Cookie:%20a=b",
	} {
		a := s.DoUnchecked(t, contract.Request{Path: path})
		require.GreaterOrEqual(t, a.Status, 400)
		require.Empty(t, a.Header.Get("Set-Cookie"))
		for _, values := range a.Header {
			require.NotContains(t, strings.Join(values, ""), "Set-Cookie")
		}
	}
}
