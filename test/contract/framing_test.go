package contract_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

const echoGood = `{"name":"x"}`

// framed is the framing of a request, and the statuses of the answers to it and to what follows.
type framed struct {
	framing  string
	statuses []int
}

// contradictoryLengths returns framings that are wrong, odd, or contain more than one request.
func contradictoryLengths() map[string]framed {
	const chunked = "Transfer-Encoding: chunked\r\n"
	return map[string]framed{
		"too short":             {"Content-Length: 5\r\n\r\n" + echoGood, []int{400, 400}},
		"too long":              {"Content-Length: 99\r\n\r\n" + echoGood, []int{400}},
		"with a sign":           {"Content-Length: +12\r\n\r\n" + echoGood, []int{400}},
		"hexadecimal":           {"Content-Length: 0xc\r\n\r\n" + echoGood, []int{400}},
		"a list":                {"Content-Length: 12, 12\r\n\r\n" + echoGood, []int{400}},
		"empty":                 {"Content-Length:\r\n\r\n" + echoGood, []int{400}},
		"beyond 2^63":           {"Content-Length: 9223372036854775808\r\n\r\n" + echoGood, []int{400}},
		"chunked twice":         {"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", []int{501}},
		"chunked, then another": {"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", []int{501}},
		"quoted":                {"Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", []int{501}},
		"vertical tab":          {"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", []int{400}},
		"folded name": {
			"X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 12\r\n\r\n" + echoGood, []int{201},
		},
		"chunk too short":      {chunked + "\r\n5\r\n" + echoGood + "\r\n0\r\n\r\n", []int{400}},
		"chunk too long":       {chunked + "\r\nff\r\n" + echoGood + "\r\n0\r\n\r\n", []int{400}},
		"chunk of 2^64":        {chunked + "\r\n10000000000000000\r\n" + echoGood + "\r\n0\r\n\r\n", []int{400}},
		"chunk of minus one":   {chunked + "\r\n-1\r\n" + echoGood + "\r\n0\r\n\r\n", []int{400}},
		"chunk in hexadecimal": {chunked + "\r\n0xc\r\n" + echoGood + "\r\n0\r\n\r\n", []int{400}},
		"chunks without end":   {chunked + "\r\nc\r\n" + echoGood + "\r\n", []int{400}},
		"a chunk extension":    {chunked + "\r\nc;a=b\r\n" + echoGood + "\r\n0\r\n\r\n", []int{201}},
		"extensions without end": {
			chunked + "\r\nc;" + strings.Repeat("a", 100_000) + "\r\n" + echoGood + "\r\n0\r\n\r\n", []int{400},
		},
		"an empty body in chunks": {chunked + "\r\n0\r\n\r\n", []int{400}},
		"the same length twice":   {"Content-Length: 12\r\nContent-Length: 12\r\n\r\n" + echoGood, []int{201}},
		"a folded encoding":       {"Transfer-Encoding:\r\n chunked\r\nContent-Length: 12\r\n\r\n" + echoGood, []int{400}},
		"a folded length":         {"Content-Length: 1\r\n 2\r\n\r\n" + echoGood, []int{400}},
		"chunks and a length":     {chunked + "Content-Length: 99\r\n\r\nc\r\n" + echoGood + "\r\n0\r\n\r\n", []int{201}},
		"a request after the body": {
			"Content-Length: 12\r\n\r\n" + echoGood + "GET /api/me HTTP/1.1\r\nHost: x\r\n\r\n", []int{201, 401},
		},
		"a request after the chunks": {
			chunked + "\r\nc\r\n" + echoGood + "\r\n0\r\n\r\nGET /api/me HTTP/1.1\r\nHost: x\r\n\r\n", []int{201, 401},
		},
	}
}

// The declared length of a request is interpreted in one way. What does not fit is an
// error or a separate request, which needs a key. The last answer of each entry is the
// one to the odd request or to what follows it.
func TestContradictoryLengthsHaveOneReading(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for name, c := range contradictoryLengths() {
		t.Run(name, func(t *testing.T) {
			w := dial(t, s)
			go func() {
				_, _ = io.WriteString(w.conn, w.head("POST", "/api/test/echo")+jsonType+c.framing)
				_ = w.conn.(*net.TCPConn).CloseWrite()
			}()
			for _, want := range c.statuses {
				status, _, _ := w.receive()
				require.Equal(t, want, status)
			}
			rest, _ := io.ReadAll(w.in)
			require.NotContains(t, string(rest), " 20", "nothing of the body was taken for a good request")
		})
	}
}

// oddTrailers returns requests with trailers, of which only the first is valid.
func oddTrailers(s *contract.Server) map[string]onTheWire {
	body := func(trailer string) string {
		return "Transfer-Encoding: chunked\r\nTrailer: Authorization, X-Workspace-Id, X-A\r\n\r\nc\r\n" +
			echoGood + "\r\n0\r\n" + trailer + "\r\n"
	}
	return map[string]onTheWire{
		"a good request has trailers": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + body("X-A: b\r\n")
		}, 201},
		"the key in a trailer": {func(*wire) string {
			return "POST /api/test/echo HTTP/1.1\r\nHost: x\r\n" + jsonType + body(
				"Authorization: Bearer "+s.Admin+"\r\nX-Workspace-Id: "+s.Workspace.String()+"\r\n",
			)
		}, 401},
		"the workspace in a trailer": {func(*wire) string {
			return fmt.Sprintf("POST /api/test/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n", s.Admin) + jsonType +
				body("X-Workspace-Id: "+s.Workspace.String()+"\r\n")
		}, 400},
		"a trailer of 1 MiB": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + body("X-A: "+strings.Repeat("a", 1<<20)+"\r\n")
		}, 400},
		"10 000 trailers": {func(w *wire) string {
			return w.head("POST", "/api/test/echo") + jsonType + body(numberedHeaders(10_000))
		}, 400},
	}
}

func TestTrailersAreNoHeaders(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	checkOnTheWire(t, s, oddTrailers(s))
}

// checkOnTheWire sends each request, checks the status of its response, and that the server answers the next request.
func checkOnTheWire(t *testing.T, s *contract.Server, requests map[string]onTheWire) {
	t.Helper()
	for name, c := range requests {
		t.Run(name, func(t *testing.T) {
			w := dial(t, s)
			go func() { _, _ = io.WriteString(w.conn, c.request(w)) }() // the server may stop reading early
			status, _, response := w.receive()
			require.Equal(t, c.status, status)
			if response.Close {
				w = dial(t, s)
			}
			w.send(w.head("GET", "/api/me") + "\r\n")
			status, _, _ = w.receive()
			require.Equal(t, 200, status)
		})
	}
}

func TestABodyThatArrivesTooSlowlyTimesOut(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	w := dial(t, s)
	w.send(w.head("POST", "/api/test/echo") + jsonType + "Content-Length: 1000\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 { // each byte is in time, all together are not
			if _, err := io.WriteString(w.conn, " "); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	started := time.Now()
	status, code, response := w.receive()
	require.Equal(t, 504, status)
	require.Equal(t, "INTERNAL_ERROR", code)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.Less(t, time.Since(started), 2*contract.Config().ReadTimeout)
	_ = w.conn.Close()
	<-done
}

// A request that is refused by its header is not asked for its body.
func TestARefusedBodyIsNotAskedFor(t *testing.T) {
	t.Parallel()
	s := contract.Start(t, testRoutes)
	for name, c := range map[string]struct {
		path, headers string
		status        int
	}{
		"unknown path":     {"/api/unknown", jsonType + "Content-Length: 12\r\n", 404},
		"wrong type":       {"/api/test/echo", "Content-Type: text/plain\r\nContent-Length: 12\r\n", 415},
		"unknown encoding": {"/api/test/echo", jsonType + "Content-Encoding: br\r\nContent-Length: 12\r\n", 415},
		"too large":        {"/api/test/echo", jsonType + "Content-Length: 1048577\r\n", 413},
		"wrong method":     {"/api/test/items", jsonType + "Content-Length: 12\r\n", 405},
	} {
		t.Run(name, func(t *testing.T) {
			w := dial(t, s)
			w.send(w.head("POST", c.path) + "Expect: 100-continue\r\n" + c.headers + "\r\n")
			status, _, response := w.receive()
			require.Equal(t, c.status, status)
			require.True(t, response.Close, "what follows could be the body")
		})
	}
}

// oddRequestLines returns requests that are odd before their body, with the status of the answer.
func oddRequestLines() map[string]onTheWire {
	return map[string]onTheWire{
		"absolute form": {func(w *wire) string { return w.head("GET", "http://evil.example/api/me") + "\r\n" }, 200},
		"upgrade to HTTP/2": {func(w *wire) string {
			return w.head("GET", "/api/me") +
				"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"
		}, 200},
		"connect":               {func(w *wire) string { return w.head("CONNECT", "example.com:443") + "\r\n" }, 404},
		"no leading slash":      {func(w *wire) string { return w.head("GET", "api/me") + "\r\n" }, 400},
		"NUL in the path":       {func(w *wire) string { return w.head("GET", "/api/me\x00") + "\r\n" }, 400},
		"raw bytes in the path": {func(w *wire) string { return w.head("GET", "/api/\xff\xfe") + "\r\n" }, 404},
		"raw bytes in the query": {func(w *wire) string {
			return w.head("GET", "/api/test/items?name=\xff") + "\r\n"
		}, 400},
		"NUL in the query": {func(w *wire) string { return w.head("GET", "/api/me?a=\x00") + "\r\n" }, 400},
		"a line end in a header": {func(w *wire) string {
			return w.head("GET", "/api/me") + "X-A: b\rInjected: c\r\n\r\n"
		}, 400},
		"a header without a name":  {func(w *wire) string { return w.head("GET", "/api/me") + ": b\r\n\r\n" }, 400},
		"a header without a colon": {func(w *wire) string { return w.head("GET", "/api/me") + "Authorization\r\n\r\n" }, 400},
		"a space before the first": {func(w *wire) string {
			return strings.Replace(w.head("GET", "/api/me"), "Host", " Host", 1) + "\r\n"
		}, 400},
		"a body where none is due": {func(w *wire) string {
			return w.head("GET", "/api/me") + "Content-Length: 12\r\n\r\n" + echoGood
		}, 200},
		"a parameter of 60 KiB": {func(w *wire) string {
			return w.head("GET", "/api/me?"+strings.Repeat("a", 60<<10)) + "\r\n"
		}, 400},
		"60 000 empty parameters": {func(w *wire) string {
			return w.head("GET", "/api/me?"+strings.Repeat("&", 60_000)) + "\r\n"
		}, 200},
	}
}

func TestOddRequestLinesAndUpgrades(t *testing.T) {
	t.Parallel()
	checkOnTheWire(t, contract.Start(t, testRoutes), oddRequestLines())
}
