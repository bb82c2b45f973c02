package client

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// quick is a retry policy with short waits.
var quick = Retry{First: time.Millisecond, Max: 5 * time.Millisecond, Total: 10 * time.Second}

func newTestClient(t *testing.T, retry Retry, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := New(Options{BaseURL: server.URL + "/", Workspace: "0190a000-0000-7000-8000-000000000001", Retry: retry})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.SetKey("lg_live_test"))
	return c
}

func answerOK(w http.ResponseWriter, status int, data string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"success":true,"data":`+data+`,"requestId":"req_1"}`)
}

func answerError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(
		w, `{"success":false,"error":{"code":%q,"message":"no","details":{"field":"x"}},"requestId":"req_1"}`, code,
	)
}

func TestACallCarriesKeyWorkspaceAndAZippedBody(t *testing.T) {
	var seen struct {
		Precision string  `json:"precision"`
		Points    []Point `json:"points"`
	}
	c := newTestClient(t, quick, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer lg_live_test" ||
			r.Header.Get("X-Workspace-Id") != "0190a000-0000-7000-8000-000000000001" ||
			r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Content-Encoding") != "gzip" ||
			r.URL.Path != "/api/live-data/ingest" {
			answerError(w, 400, "VALIDATION_ERROR")
			return
		}
		body, err := gzip.NewReader(r.Body)
		if err == nil {
			err = json.UnmarshalRead(body, &seen)
		}
		if err != nil {
			answerError(w, 400, "VALIDATION_ERROR")
			return
		}
		answerOK(w, 201, `{"accepted":100,"rejected":0,"errors":[],"checkpoint":"cp"}`)
	})
	points := make([]Point, 100)
	for i := range points {
		points[i] = Point{
			Source: "s", Metric: "m", Timestamp: int64(i), Value: 0.1 * float64(i), Tags: map[string]string{"core": "0"},
		}
	}
	receipt, err := c.IngestPoints(t.Context(), points)
	require.NoError(t, err)
	require.Positive(t, receipt.Took)
	receipt.Took = 0
	require.Equal(t, Receipt{Accepted: 100, Errors: []Rejection{}, Checkpoint: "cp"}, receipt)
	require.Equal(t, points, seen.Points)
	require.Equal(t, "ms", seen.Precision)
}

func TestPassingRefusalsAreTriedAgain(t *testing.T) {
	for _, status := range []int{429, 500, 502, 503, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var calls atomic.Int32
			c := newTestClient(t, quick, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) <= 3 {
					answerError(w, status, "INTERNAL_ERROR")
					return
				}
				answerOK(w, 201, `{"accepted":1,"rejected":0,"errors":[],"checkpoint":"cp"}`)
			})
			receipt, err := c.IngestPoints(t.Context(), []Point{{}})
			require.NoError(t, err)
			require.Equal(t, 1, receipt.Accepted)
			require.EqualValues(t, 4, calls.Load())
		})
	}
}

func TestFinalRefusalsAreNotTriedAgain(t *testing.T) {
	for status, kind := range map[int]fault.Kind{
		302: fault.Malformed, 400: fault.Malformed, 401: fault.Unauthenticated, 403: fault.Forbidden, 404: fault.NotFound,
		405: fault.MethodNotAllowed, 409: fault.Conflict, 413: fault.TooLarge, 415: fault.UnsupportedMedia,
		418: fault.Malformed, 422: fault.Invalid,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var calls atomic.Int32
			c := newTestClient(t, quick, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				answerError(w, status, "SOME_CODE")
			})
			_, err := c.IngestPoints(t.Context(), []Point{{}})
			require.Equal(t, kind, fault.KindOf(err))
			require.EqualValues(t, 1, calls.Load())
			require.ErrorContains(t, err, "request req_1")
			var fe *fault.Error
			require.ErrorAs(t, err, &fe)
			require.Equal(t, "no", fe.Message)
			require.Equal(t, map[string]any{"field": "x"}, fe.Details)
		})
	}
}

func TestADefectOfTheServerIsNotTriedForever(t *testing.T) {
	var calls atomic.Int32
	c := newTestClient(t, Retry{
		First: time.Millisecond, Max: time.Millisecond,
	}, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "<html>not the envelope</html>")
	})
	_, err := c.Query(t.Context(), Query{})
	require.Equal(t, fault.Internal, fault.KindOf(err))
	require.EqualValues(t, 5, calls.Load(), "the most attempts of the SDK after an internal error")
	require.ErrorContains(t, err, "Internal Server Error")
}

func TestRetryAfterIsHonoured(t *testing.T) {
	var calls atomic.Int32
	var first time.Time
	waits := []time.Duration{}
	retry := quick
	retry.OnWait = func(err error, wait time.Duration) {
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		waits = append(waits, wait)
	}
	c := newTestClient(t, retry, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			first = time.Now()
			w.Header().Set("Retry-After", "1")
			answerError(w, 503, "INTERNAL_ERROR")
			return
		}
		answerOK(w, 200, `[]`)
	})
	_, err := c.Query(t.Context(), Query{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(first), time.Second)
	require.Equal(t, []time.Duration{time.Second}, waits)
}

func TestAWaitBeyondTheTotalEndsTheAttempts(t *testing.T) {
	c := newTestClient(t, Retry{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		answerError(w, 429, "RATE_LIMITED")
	})
	began := time.Now()
	_, err := c.RetryUntil(time.Minute).Query(t.Context(), Query{})
	require.Equal(t, fault.RateLimited, fault.KindOf(err))
	require.Less(t, time.Since(began), 30*time.Second)
}

func TestACancelledContextEndsTheWaitAtOnce(t *testing.T) {
	c := newTestClient(t, Retry{First: time.Hour, Max: time.Hour}, func(w http.ResponseWriter, _ *http.Request) {
		answerError(w, 503, "INTERNAL_ERROR")
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := c.Query(ctx, Query{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 10*time.Second)
}

func TestAServerThatDoesNotRunIsUnavailable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := New(Options{BaseURL: server.URL, Retry: Retry{
		First: time.Millisecond, Max: time.Millisecond, Total: 20 * time.Millisecond,
	}})
	require.NoError(t, err)
	_, err = c.Query(t.Context(), Query{})
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
}

func TestAnAnswerThatIsNoEnvelopeIsABadGateway(t *testing.T) {
	c := newTestClient(t, Retry{
		First: time.Millisecond, Total: 10 * time.Millisecond,
	}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	})
	_, err := c.Query(t.Context(), Query{})
	require.Equal(t, fault.BadGateway, fault.KindOf(err))
}

func TestAnAddressThatIsNoURLIsRefused(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://", "://"} {
		_, err := New(Options{BaseURL: address})
		require.Error(t, err, address)
	}
}
