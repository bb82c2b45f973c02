package contract_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// badRequest is a request that is refused.
type badRequest struct {
	name   string // unique in its class
	bytes  string // on the wire
	head   bool   // the answer has no body
	status int    // 0: any refusal
	field  string // of the details; "": not checked
}

// requestClass is a class of bad requests, with a good request to the same routes that changes
// nothing and always gets the same answer.
type requestClass struct {
	name string
	good string
	list []badRequest
}

// wireResponse is an answer that was read from a connection.
type wireResponse struct {
	status int
	header http.Header
	body   string
	closes bool // whether it announces the end of the connection
	field  any  // of the details of an error

	ofPrometheus bool // has an error of Prometheus, which names no field
}

// variableIDs matches the parts that differ in every answer: ids of requests and commands.
var variableIDs = regexp.MustCompile(`req_[0-9A-Z]{26}|"commandId":"[0-9a-f-]{36}"`)

// normalized returns the answer without what differs between two answers to the same request.
func (a *wireResponse) normalized() wireResponse {
	header := a.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length", "Ratelimit", "X-Ratelimit-Reset"} {
		header.Del(name)
	}
	return wireResponse{status: a.status, header: header, body: variableIDs.ReplaceAllString(a.body, "")}
}

// readResponse reads one answer and checks what all answers have in common.
func (w *wire) readResponse(head bool) *wireResponse {
	w.t.Helper()
	method := http.MethodGet
	if head {
		method = http.MethodHead
	}
	require.NoError(w.t, w.conn.SetDeadline(time.Now().Add(20*time.Second)))
	response, err := http.ReadResponse(w.in, &http.Request{Method: method})
	require.NoError(w.t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	a := &wireResponse{status: response.StatusCode, header: response.Header, body: string(body), closes: response.Close}
	if a.status == http.StatusExpectationFailed || head || a.status < 400 {
		return a
	}
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") { // the request was not readable as HTTP
		require.Contains(w.t, []int{http.StatusBadRequest, http.StatusRequestHeaderFieldsTooLarge, http.StatusNotImplemented,
			http.StatusHTTPVersionNotSupported}, a.status)
		require.Regexp(w.t, `^\d{3} [ -~]{1,100}$`, a.body)
		require.True(w.t, a.closes, "a connection that is out of step ends")
		return a
	}
	var envelope struct {
		Success *bool
		Error   struct {
			Code, Message string
			Details       map[string]any
		}
		RequestID string
	}
	if bytes.HasPrefix(body, []byte(`{"status":"error",`)) { // of Prometheus
		require.Regexp(w.t, `^{"status":"error","errorType":"[a-z_]+","error":"[^"]+"}\s*$`, string(body))
		a.ofPrometheus = true
		return a
	}
	require.NoError(w.t, json.Unmarshal(body, &envelope), "%d %s", a.status, body)
	require.True(
		w.t, envelope.Success != nil && !*envelope.Success && envelope.Error.Code != "" && envelope.Error.Message != "", "%s",
		body,
	)
	require.Equal(w.t, envelope.RequestID, response.Header.Get("X-Request-Id"))
	a.field = envelope.Error.Details["field"]
	return a
}

// sendAsync sends the text in the background, because the server may stop reading early. The
// channel is closed when the text has been sent or sending has failed.
func (w *wire) sendAsync(text string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.WriteString(w.conn, text)
	}()
	return done
}

// sendBetweenGood sends a bad request and then the good one, separately or at once, and checks
// the answers. It returns the connection for the next request: a new one for t if the server
// has closed this one.
func (w *wire) sendBetweenGood(t *testing.T, b badRequest, good string, first wireResponse, atOnce bool) *wire {
	w.t.Helper()
	text := b.bytes
	if atOnce {
		text += good
	}
	written := w.sendAsync(text)
	a := w.readResponse(b.head)
	require.GreaterOrEqual(w.t, a.status, 400)
	if b.status == 0 {
		require.Less(w.t, a.status, 500, "%s", a.body)
	}
	if b.status != 0 {
		require.Equal(w.t, b.status, a.status, "%s", a.body)
	}
	if b.field != "" && !a.ofPrometheus {
		require.Equal(w.t, b.field, a.field, "%s", a.body)
	}
	if a.closes {
		_, err := w.in.ReadByte()
		require.Error(w.t, err, "it says that the connection ends, and it goes on")
		_ = w.conn.Close()
		<-written
		next := dial(t, w.s)
		next.t = w.t
		w, atOnce = next, false
	} else {
		<-written
	}
	if !atOnce {
		<-w.sendAsync(good)
	}
	require.Equal(w.t, first, w.readResponse(false).normalized(), "the same good request")
	return w
}

// Every entry of the tables is sent between two good requests on one connection: the bad
// request is refused as expected and changes nothing, and the good request after it gets the
// same answer as the one before. Every other bad request is sent together with the good one
// that follows, as a proxy may do. At the end the process holds no more resources than before.
//
// It is not parallel: other tests would change the resources of the process.
func TestWhatIsBadChangesNothingAndHarmsNothingAfterIt(t *testing.T) {
	w := startEnvironment(t)
	classes := slices.Concat(w.httpClasses(t), w.bodyClasses(t), w.parameterClasses(t), w.accessClasses(t))
	for _, c := range classes { // open connections and fill caches first
		conn := dial(t, w.Server)
		<-conn.sendAsync(c.good)
		require.Less(t, conn.readResponse(false).status, 300, c.name)
		_ = conn.conn.Close()
	}
	before, held := w.snapshot(t), measureFootprint()
	tried := 0
	for _, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			conn := dial(t, w.Server)
			<-conn.sendAsync(c.good)
			first := conn.readResponse(false).normalized()
			slices.SortFunc(c.list, func(a, b badRequest) int { return strings.Compare(a.name, b.name) })
			for i, b := range c.list {
				ok := t.Run(b.name, func(inner *testing.T) {
					conn.t = inner
					conn = conn.sendBetweenGood(t, b, c.good, first, i%2 == 1)
				})
				if conn.t = t; !ok {
					conn = dial(t, w.Server)
				}
				tried++
			}
			_ = conn.conn.Close()
		})
	}
	require.Greater(t, tried, 600)
	require.Equal(t, before, w.snapshot(t))
	w.requireNoServerErrors(t)
	requireNoMoreThan(t, held)
}

// newBadRequest returns the bad request with the usual encoding of q on the wire.
func (w *environment) newBadRequest(
	t *testing.T, name string, q contract.Request, status int, field string,
) badRequest {
	t.Helper()
	return badRequest{name: name, bytes: w.Bytes(t, q), head: q.Method == http.MethodHead, status: status, field: field}
}

// offlineWire returns a wire without a connection, for tables that need one to build requests.
func (w *environment) offlineWire(t *testing.T) *wire {
	t.Helper()
	return &wire{t: t, s: w.Server, in: bufio.NewReader(strings.NewReader(""))}
}
