package contract_test

import (
	"bufio"
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

// bad is a request that is refused.
type bad struct {
	name   string // of it in its class
	bytes  string // as it goes over the wire
	head   bool   // the answer has no body
	status int    // 0: any refusal
	field  string // of the details; "": it is not looked at
}

// class is a class of bad requests, with a good one of the same routes that changes nothing
// and is answered the same each time.
type class struct {
	name string
	good string
	list []bad
}

// answered is an answer as it came.
type answered struct {
	status int
	header http.Header
	body   string
	closes bool // it says that the connection ends
	field  any  // of the details of an error
}

// varying is what of an answer is another each time: ids of requests and commands.
var varying = regexp.MustCompile(`req_[0-9A-Z]{26}|"commandId":"[0-9a-f-]{36}"`)

// same is what two answers to the same request have in common.
func (a *answered) same() answered {
	header := a.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length", "Ratelimit", "X-Ratelimit-Reset"} {
		header.Del(name)
	}
	return answered{status: a.status, header: header, body: varying.ReplaceAllString(a.body, "")}
}

// next reads one answer, which must be as every answer is.
func (w *wire) next(head bool) *answered {
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
	a := &answered{status: response.StatusCode, header: response.Header, body: string(body), closes: response.Close}
	if a.status == http.StatusExpectationFailed || head || a.status < 400 {
		return a
	}
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") { // it is no HTTP that can be read
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
	require.NoError(w.t, json.Unmarshal(body, &envelope), "%d %s", a.status, body)
	require.True(
		w.t, envelope.Success != nil && !*envelope.Success && envelope.Error.Code != "" && envelope.Error.Message != "", "%s",
		body,
	)
	require.Equal(w.t, envelope.RequestID, response.Header.Get("X-Request-Id"))
	a.field = envelope.Error.Details["field"]
	return a
}

// write sends in the background: the server may stop reading early. The channel is closed
// when all is sent, or cannot be.
func (w *wire) write(text string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.WriteString(w.conn, text)
	}()
	return done
}

// between sends a bad request after good ones and the good one after it, one by one or all
// at once, and holds the answers against what is due. It gives the connection to go on with,
// which is made for t where this one has ended.
func (w *wire) between(t *testing.T, b bad, good string, first answered, atOnce bool) *wire {
	w.t.Helper()
	text := b.bytes
	if atOnce {
		text += good
	}
	written := w.write(text)
	a := w.next(b.head)
	require.GreaterOrEqual(w.t, a.status, 400)
	if b.status == 0 {
		require.Less(w.t, a.status, 500, "%s", a.body)
	}
	if b.status != 0 {
		require.Equal(w.t, b.status, a.status, "%s", a.body)
	}
	if b.field != "" {
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
		<-w.write(good)
	}
	require.Equal(w.t, first, w.next(false).same(), "the same good request")
	return w
}

// Every entry of the tables between two good requests on one connection: what is bad is
// refused as it should be and changes nothing, and the good request after it is answered as
// the one before. Every other one comes together with the good one that follows, as a proxy
// may send it. After all of them the process has what it had.
func TestWhatIsBadChangesNothingAndHarmsNothingAfterIt(t *testing.T) {
	t.Parallel()
	w := startWhole(t)
	classes := slices.Concat(w.httpClasses(t), w.bodyClasses(t), w.parameterClasses(t), w.accessClasses(t))
	for _, c := range classes { // connections and caches are there, then
		conn := dial(t, w.Server)
		<-conn.write(c.good)
		require.Less(t, conn.next(false).status, 300, c.name)
		_ = conn.conn.Close()
	}
	before, held := w.standing(t), measured()
	tried := 0
	for _, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			conn := dial(t, w.Server)
			<-conn.write(c.good)
			first := conn.next(false).same()
			slices.SortFunc(c.list, func(a, b bad) int { return strings.Compare(a.name, b.name) })
			for i, b := range c.list {
				ok := t.Run(b.name, func(inner *testing.T) {
					conn.t = inner
					conn = conn.between(t, b, c.good, first, i%2 == 1)
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
	require.Equal(t, before, w.standing(t))
	w.requireNoFailureOfOurs(t)
	requireNoMoreThan(t, held)
}

// of makes what goes over the wire of a request that is not odd in its bytes.
func (w *whole) of(t *testing.T, name string, q contract.Request, status int, field string) bad {
	t.Helper()
	return bad{name: name, bytes: w.Bytes(t, q), head: q.Method == http.MethodHead, status: status, field: field}
}

// reader is a connection that is read from a text, for tables whose requests are made on one.
func (w *whole) reader(t *testing.T) *wire {
	t.Helper()
	return &wire{t: t, s: w.Server, in: bufio.NewReader(strings.NewReader(""))}
}
