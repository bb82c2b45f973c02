package reply_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

func answer(write func(w http.ResponseWriter, r *http.Request)) (*httptest.ResponseRecorder, map[string]any) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	write(w, r.WithContext(reply.WithRequestID(r.Context(), "req_1")))
	var body map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &body)
	return w, body
}

func TestEveryKindHasItsStatusAndCode(t *testing.T) {
	for kind, want := range map[fault.Kind]string{
		fault.Internal: "500 INTERNAL_ERROR", fault.Malformed: "400 VALIDATION_ERROR", fault.Invalid: "422 VALIDATION_ERROR",
		fault.TooLarge: "413 VALIDATION_ERROR", fault.UnsupportedMedia: "415 VALIDATION_ERROR",
		fault.MethodNotAllowed: "405 VALIDATION_ERROR",
		fault.Unauthenticated:  "401 AUTHENTICATION_ERROR", fault.Forbidden: "403 AUTHORIZATION_ERROR",
		fault.NotFound: "404 NOT_FOUND",
		fault.Conflict: "409 CONFLICT", fault.RateLimited: "429 RATE_LIMITED", fault.BadGateway: "502 INTERNAL_ERROR",
		fault.Unavailable: "503 INTERNAL_ERROR", fault.Timeout: "504 INTERNAL_ERROR",
	} {
		w, body := answer(func(w http.ResponseWriter, r *http.Request) { reply.Error(w, r, fault.New(kind, "Why")) })
		require.Equal(t, want, fmt.Sprint(w.Code, " ", body["error"].(map[string]any)["code"]))
		require.Equal(t, false, body["success"])
		require.Equal(t, "req_1", body["requestId"])
		retry := w.Code == 502 || w.Code == 503 || w.Code == 504
		require.Equal(t, retry, w.Header().Get("Retry-After") != "", w.Code)
	}
	// The kinds are numbered without gaps. Timeout is the last one.
	require.Equal(t, fault.Timeout, fault.Kind(13), "a new kind needs a row in the table and here")
}

func TestWhatIsInternalIsNotSent(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7:5432: password wrong")
	for _, err := range []error{secret, fault.Wrap(secret, fault.Internal, "leak").With("host", "10.0.0.7"),
		fault.Wrap(secret, fault.Unavailable, "The database is not available"), fmt.Errorf("reading: %w", secret)} {
		w, _ := answer(func(w http.ResponseWriter, r *http.Request) { reply.Error(w, r, err) })
		require.NotContains(t, w.Body.String(), "10.0.0.7")
		require.NotContains(t, w.Body.String(), "leak")
	}
}

func TestTheEndOfAWaitIsATimeout(t *testing.T) {
	w, _ := answer(func(w http.ResponseWriter, r *http.Request) {
		reply.Error(w, r, fmt.Errorf("querying: %w", context.DeadlineExceeded))
	})
	require.Equal(t, http.StatusGatewayTimeout, w.Code)
	w, _ = answer(func(w http.ResponseWriter, r *http.Request) {
		reply.Error(w, r, fault.New(fault.RateLimited, "Later").After(1100*time.Millisecond))
	})
	require.Equal(t, "2", w.Header().Get("Retry-After"))
	require.Equal(t, http.StatusGatewayTimeout, reply.StatusOf(fmt.Errorf("reading: %w", context.DeadlineExceeded)))
	require.Equal(t, http.StatusServiceUnavailable, reply.StatusOf(context.Canceled))
}

func TestAClientThatDisconnectedIsNoErrorOfTheServer(t *testing.T) {
	closed, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("the server stops"))
	waited := fmt.Errorf("reading: %w", context.Canceled)
	for _, c := range []struct {
		ctx    context.Context //nolint:containedctx // it is what the case is about
		err    error
		status int
	}{
		{closed, waited, reply.StatusDisconnected},
		{closed, fault.Wrap(waited, fault.Unavailable, "The store is not available"), reply.StatusDisconnected},
		{closed, errors.New("a defect"), http.StatusInternalServerError},
		{closed, fault.New(fault.Timeout, "The body did not arrive in time"), http.StatusGatewayTimeout},
		{closed, fault.New(fault.NotFound, "No such node"), http.StatusNotFound},
		{late, context.DeadlineExceeded, http.StatusGatewayTimeout},
		{stopped, waited, http.StatusServiceUnavailable},
		{t.Context(), waited, http.StatusServiceUnavailable},
	} {
		w, _ := answer(func(w http.ResponseWriter, r *http.Request) { reply.Error(w, r.WithContext(c.ctx), c.err) })
		require.Equal(t, c.status, w.Code, c.err)
	}
}

func TestListsAreNeverNull(t *testing.T) {
	w, body := answer(func(w http.ResponseWriter, r *http.Request) {
		reply.List[string](w, r, nil, reply.PageMeta(120, 50, 100, 0))
	})
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, []any{}, body["data"])
	require.Equal(
		t, map[string]any{"total": 120.0, "limit": 50.0, "offset": 100.0, "hasMore": true, "nextCursor": nil}, body["meta"],
	)
}

func TestMoreItemsFollowUntilTheLastPage(t *testing.T) {
	for _, c := range []struct {
		total            int64
		offset, returned int
		more             bool
	}{{0, 0, 0, false}, {50, 0, 50, false}, {51, 0, 50, true}, {51, 50, 1, false}, {51, 60, 0, false}} {
		require.Equal(t, c.more, reply.PageMeta(c.total, 50, c.offset, c.returned).HasMore, "%+v", c)
	}
}

func TestARequestIDIsAPrefixAndAULID(t *testing.T) {
	require.Regexp(t, `^req_[0-9A-HJKMNP-TV-Z]{26}$`, reply.NewRequestID())
	require.NotEqual(t, reply.NewRequestID(), reply.NewRequestID())
	require.Empty(t, reply.RequestID(context.Background()))
	require.Equal(t, "req_1", reply.RequestID(reply.WithRequestID(context.Background(), "req_1")))
}

func TestAnAnswerThatCannotBeEncodedIsAnError(t *testing.T) {
	w, body := answer(func(w http.ResponseWriter, r *http.Request) { reply.Data(w, r, http.StatusOK, make(chan int)) })
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "req_1", body["requestId"])
	require.False(t, strings.Contains(w.Body.String(), "chan"))
}

func ExampleList() {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	reply.List(w, r.WithContext(reply.WithRequestID(r.Context(), "req_1")), []string{"a"}, reply.PageMeta(3, 1, 0, 1))
	fmt.Println(strings.Replace(w.Body.String(), `"meta"`, "\n"+`"meta"`, 1))
	// Output:
	// {"success":true,"data":["a"],
	// "meta":{"total":3,"limit":1,"offset":0,"hasMore":true,"nextCursor":null},"requestId":"req_1"}
}

func TestAnswersEndInANewline(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, answer := range []func(http.ResponseWriter){
		func(w http.ResponseWriter) { reply.Data(w, r, http.StatusOK, "x") },
		func(w http.ResponseWriter) { reply.Error(w, r, fault.New(fault.NotFound, "No such source")) },
	} {
		w := httptest.NewRecorder()
		answer(w)
		require.True(t, strings.HasSuffix(w.Body.String(), "}\n"), "responses on a terminal are separate lines")
	}
}

func TestAnInternalErrorShowsOnlyWhoseOutcomeItIs(t *testing.T) {
	hidden := fault.New(fault.Internal, "secret").With("field", "secret").With(
		reply.CommandID, "01a1ff00-d79f-7649-8b01-ece35a26ff15",
	)
	require.Equal(t, reply.Problem{
		Code: "INTERNAL_ERROR", Message: "Internal server error",
		Details: map[string]any{"commandId": "01a1ff00-d79f-7649-8b01-ece35a26ff15"},
	}, reply.ProblemOf(hidden))
	require.Nil(t, reply.ProblemOf(errors.New("secret")).Details)
	require.Equal(t, http.StatusInternalServerError, reply.Status(hidden))
}

func TestAStreamedListHasTheEnvelopeOfAnyOther(t *testing.T) {
	meta := reply.PageMeta(2, 50, 0, 2)
	_, listed := answer(func(w http.ResponseWriter, r *http.Request) { reply.List(w, r, []int{1, 2}, meta) })
	recorded, streamed := answer(func(w http.ResponseWriter, r *http.Request) {
		reply.StreamList(w, r, meta, func(out *bufio.Writer) { _, _ = out.WriteString("1,2") })
	})
	require.Equal(t, http.StatusOK, recorded.Code)
	require.Equal(t, listed, streamed)
}
