package livegraph_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

const node = `{"id":"n","name":"pump","entityType":"object","description":null,"properties":{},"version":1}`

func TestTransientErrorsAreRepeated(t *testing.T) {
	for _, status := range []int{429, 500, 502, 503, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
				if n <= 3 {
					fail(w, status, "INTERNAL_ERROR")
					return
				}
				succeed(w, node)
			})
			got, err := s.client(t).Nodes.Get(t.Context(), "n")
			noError(t, err)
			equal(t, "pump", got.Name)
			equal(t, 4, len(s.all()))
		})
	}
}

func TestPermanentErrorsAreNotRepeated(t *testing.T) {
	for status, sentinel := range map[int]error{
		302: nil, 400: livegraph.ErrInvalid, 401: livegraph.ErrUnauthenticated, 403: livegraph.ErrForbidden,
		404: livegraph.ErrNotFound, 405: livegraph.ErrInvalid, 409: livegraph.ErrConflict, 413: livegraph.ErrInvalid,
		415: livegraph.ErrInvalid, 418: nil, 422: livegraph.ErrInvalid,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { fail(w, status, "SOME_CODE") })
			_, err := s.client(t).Nodes.Get(t.Context(), "n")
			var api *livegraph.APIError
			check(t, errors.As(err, &api), "%v", err)
			check(t, sentinel == nil || errors.Is(err, sentinel), "%v is not %v", err, sentinel)
			check(t, !errors.Is(err, livegraph.ErrServer) && !livegraph.OutcomeUnknown(err), "%v", err)
			equal(t, 1, len(s.all()))
			equal(t, fmt.Sprintf("%d SOME_CODE: no (x: is bad), request req_1", status), err.Error())
			equal(t, "x", api.Field())
		})
	}
}

func TestADefectOfTheServerIsNotRepeatedOften(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { w.WriteHeader(http.StatusInternalServerError) })
	_, err := s.client(t).Nodes.Get(t.Context(), "n")
	check(t, errors.Is(err, livegraph.ErrServer) && !errors.Is(err, livegraph.ErrUnavailable), "%v", err)
	equal(t, "500: Internal Server Error", err.Error())
	equal(t, 5, len(s.all()))
}

func TestRetryAfterIsTheWait(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			fail(w, 503, "INTERNAL_ERROR")
			return
		}
		succeed(w, node)
	})
	var waits []time.Duration
	retry := quick
	retry.OnWait = func(r *livegraph.Request, err error, wait time.Duration) {
		check(t, errors.Is(err, livegraph.ErrUnavailable) && r.Path == "/api/queries/nodes/n", "%v of %v", err, r)
		waits = append(waits, wait)
	}
	began := time.Now()
	_, err := s.client(t, livegraph.WithRetry(retry)).Nodes.Get(t.Context(), "n")
	noError(t, err)
	equal(t, []time.Duration{time.Second}, waits)
	check(t, time.Since(began) >= time.Second, "it did not wait")
}

func TestAttemptsAreBounded(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, r *received) {
		if r.path == "/api/me" {
			w.Header().Set("Retry-After", "3600")
		}
		fail(w, 429, "RATE_LIMITED")
	})
	began := time.Now()
	_, err := s.client(t).Account(t.Context())
	var api *livegraph.APIError
	check(t, errors.As(err, &api) && api.RetryAfter == time.Hour && errors.Is(err, livegraph.ErrRateLimited), "%v", err)
	equal(t, 1, len(s.all()))

	retry := quick
	retry.MaxAttempts = 3
	_, err = s.client(t).WithRetry(retry).Nodes.Get(t.Context(), "n")
	check(t, errors.Is(err, livegraph.ErrRateLimited), "%v", err)
	equal(t, 4, len(s.all()))

	retry = livegraph.Retry{First: time.Millisecond, Max: time.Millisecond, Total: 50 * time.Millisecond}
	_, err = s.client(t).WithRetry(retry).Nodes.Get(t.Context(), "n")
	check(t, errors.Is(err, livegraph.ErrRateLimited), "%v", err)
	check(t, time.Since(began) < 15*time.Second, "it waited too long")
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { fail(w, 503, "INTERNAL_ERROR") })
	retry := livegraph.Retry{First: time.Hour, Max: time.Hour, Total: livegraph.Unlimited}
	client := s.client(t, livegraph.WithRetry(retry))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := client.Nodes.Get(ctx, "n")
	check(t, errors.Is(err, context.DeadlineExceeded) && errors.Is(err, livegraph.ErrUnavailable), "%v", err)
}

func TestRequestsThatMustNotBeRepeated(t *testing.T) {
	deletions := map[string]func(*livegraph.Client) error{
		"points": func(c *livegraph.Client) error {
			_, err := c.Points.Delete(t.Context(), "s", livegraph.PointRange{})
			return err
		},
		"source with a version": func(c *livegraph.Client) error {
			_, err := c.Sources.Update(t.Context(), "s", livegraph.SourcePatch{}, livegraph.IfVersion(3))
			return err
		},
		"webhook": func(c *livegraph.Client) error {
			_, err := c.Webhooks.Create(t.Context(), livegraph.NewWebhook{})
			return err
		},
		"secret":   func(c *livegraph.Client) error { _, err := c.Webhooks.RollSecret(t.Context(), "h"); return err },
		"test":     func(c *livegraph.Client) error { _, err := c.Webhooks.Test(t.Context(), "h"); return err },
		"delivery": func(c *livegraph.Client) error { _, err := c.Webhooks.Redeliver(t.Context(), "h", "d"); return err },
	}
	for name, send := range deletions {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ int, w http.ResponseWriter, _ *received) { fail(w, 503, "INTERNAL_ERROR") })
			err := send(s.client(t))
			check(t, errors.Is(err, livegraph.ErrUnavailable) && livegraph.OutcomeUnknown(err), "%v", err)
			equal(t, 1, len(s.all()))

			s = serve(t, func(_ int, w http.ResponseWriter, _ *received) { breakOff(w) })
			err = send(s.client(t))
			var transport *livegraph.TransportError
			check(t, errors.As(err, &transport) && transport.Sent && livegraph.OutcomeUnknown(err), "%v", err)
			equal(t, 1, len(s.all()))

			s = serve(t, func(n int, w http.ResponseWriter, _ *received) {
				if n == 1 {
					fail(w, 429, "RATE_LIMITED") // it was certainly not executed
					return
				}
				succeed(w, "{}")
			})
			noError(t, send(s.client(t)))
			equal(t, 2, len(s.all()))
		})
	}
}

func TestARequestThatWasNotSentIsRepeated(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	address := listener.Addr().String()
	noError(t, listener.Close())
	waits := 0
	retry := livegraph.Retry{
		First: time.Millisecond, Max: time.Millisecond, MaxAttempts: 4,
		OnWait: func(*livegraph.Request, error, time.Duration) { waits++ },
	}
	client, err := livegraph.New("http://"+address, testKey, livegraph.WithRetry(retry))
	noError(t, err)
	_, err = client.Points.Delete(t.Context(), "s", livegraph.PointRange{})
	var transport *livegraph.TransportError
	check(t, errors.As(err, &transport) && !transport.Sent && !livegraph.OutcomeUnknown(err), "%v", err)
	equal(t, 3, waits)
}

func TestBrokenConnectionsAndHalfResponsesAreRepeated(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		switch n {
		case 1:
			breakOff(w)
		case 2:
			w.Header().Set("Content-Length", "1000")
			succeed(w, node)
		case 3:
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<html>a proxy"))
		default:
			succeed(w, node)
		}
	})
	got, err := s.client(t).Nodes.Get(t.Context(), "n")
	noError(t, err)
	equal(t, "pump", got.Name)
	equal(t, 4, len(s.all()))
}

func TestASlowResponseIsATimeoutOfTheAttempt(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			<-release
			return
		}
		if n == 2 { // the headers come, the body does not
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-release
			return
		}
		succeed(w, node)
	})
	t.Cleanup(func() { close(release) })
	_, err := s.client(t, livegraph.WithTimeout(100*time.Millisecond)).Nodes.Get(t.Context(), "n")
	noError(t, err)
	equal(t, 3, len(s.all()))
}

func TestACommandHasTheSameKeyInEachAttempt(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		switch n {
		case 1:
			fail(w, 504, "INTERNAL_ERROR")
		case 2: // the server still processes the first attempt
			w.Header().Set("Retry-After", "1")
			fail(w, 409, "CONFLICT")
		default:
			succeed(w, `{"type":"CREATE_NODE","node":`+node+`}`)
		}
	})
	client := s.client(t)
	_, err := client.Nodes.Create(t.Context(), livegraph.NewNode{Name: "pump", EntityType: livegraph.EntityTypeObject})
	noError(t, err)
	_, err = client.Nodes.Create(t.Context(), livegraph.NewNode{Name: "<b>"}, livegraph.WithIdempotencyKey("mine"))
	noError(t, err)
	var keys []string
	for _, r := range s.all() {
		keys = append(keys, r.header.Get("Idempotency-Key"))
		equal(t, "wait=30", r.header.Get("Prefer"))
	}
	equal(t, 4, len(keys))
	check(t, keys[0] != "" && keys[0] == keys[1] && keys[1] == keys[2] && keys[3] == "mine", "%q", keys)
	equal(t, `{"type":"CREATE_NODE","payload":{"name":"pump","entityType":"object"}}`, s.all()[0].body)
	check(t, strings.Contains(s.all()[3].body, "<b>"), "the text is not changed: %s", s.all()[3].body)
}

func TestADeletionOfADocumentHasTheSameKeyInEachAttempt(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n == 1 {
			breakOff(w)
			return
		}
		succeed(w, "{}")
	})
	_, err := s.client(t).Documents.Delete(t.Context(), "a/b")
	noError(t, err)
	_, err = s.client(t).Documents.Delete(t.Context(), "a/b", livegraph.WithIdempotencyKey("mine"))
	noError(t, err)
	equal(t, 3, len(s.all()))
	keys := make([]string, 3)
	for i, r := range s.all() {
		keys[i] = r.header.Get("Idempotency-Key")
		equal(t, "wait=30", r.header.Get("Prefer"))
	}
	check(t, keys[0] != "" && keys[0] == keys[1] && keys[2] == "mine", "%q", keys)
}

func TestOnlyPointsWithoutATimestampNeedAKey(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ *received) {
		succeed(w, `{"accepted":1,"rejected":0,"errors":[],"checkpoint":"c"}`)
	})
	points, now := s.client(t).Points, time.Now()
	timed := livegraph.Point{Metric: "m", Value: 1, Timestamp: now}
	for _, send := range []func() error{
		func() error {
			_, err := points.Write(t.Context(), []livegraph.Point{timed}, livegraph.WriteOptions{Source: "s"})
			return err
		},
		func() error {
			_, err := points.Write(t.Context(), []livegraph.Point{timed, {Value: 1}}, livegraph.WriteOptions{Strict: true})
			return err
		},
		func() error {
			series := []livegraph.PointSeries{{Values: []any{1}, Timestamps: []any{now}}}
			_, err := points.WriteSeries(t.Context(), series, livegraph.WriteOptions{})
			return err
		},
		func() error {
			_, err := points.WriteLines(t.Context(), []byte("a b=1"), livegraph.LineOptions{Precision: "s"})
			return err
		},
	} {
		noError(t, send())
	}
	all := s.all()
	for i, keyed := range []bool{false, true, false, true} {
		equal(t, keyed, all[i].header.Get("Idempotency-Key") != "")
	}
	equal(t, "s", all[0].json(t)["source"])
	equal(t, "true", all[1].query.Get("strict"))
	equal(t, "text/plain", all[3].header.Get("Content-Type"))
}

func TestARefusedKeyIsReplacedOnceForAll(t *testing.T) {
	var created atomic.Int32
	s := serve(t, func(_ int, w http.ResponseWriter, r *received) {
		if r.header.Get("Authorization") != "Bearer key-2" {
			fail(w, 401, "AUTHENTICATION_ERROR")
			return
		}
		succeed(w, node)
	})
	source := livegraph.WithKeySource(func(context.Context) (string, error) {
		n := created.Add(1)
		if n == 3 {
			return "", errors.New("away")
		}
		return fmt.Sprintf("key-%d", n), nil
	})
	client, err := livegraph.New(s.URL, "", source, livegraph.WithRetry(livegraph.Retry{MaxAttempts: 1}))
	noError(t, err)
	_, err = client.Nodes.Get(t.Context(), "n")
	noError(t, err)
	_, err = client.Nodes.Get(t.Context(), "n")
	noError(t, err)
	equal(t, 2, int(created.Load()))
	equal(t, 3, len(s.all()))

	noError(t, client.SetKey("revoked"))
	_, err = client.Nodes.Get(t.Context(), "n")
	var key *livegraph.KeyError
	check(t, errors.As(err, &key) && strings.Contains(err.Error(), "away"), "%v", err)
	_, err = client.Nodes.Get(t.Context(), "n") // key-4 is refused, too
	check(t, errors.As(err, &key) && errors.Is(err, livegraph.ErrUnauthenticated), "%v", err)
	equal(t, 4, int(created.Load()))
}

func TestAWaitForPointsIsRepeatedAtOnce(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ *received) {
		if n < 3 {
			time.Sleep(250 * time.Millisecond)
			w.Header().Set("Retry-After", "3600")
			fail(w, 504, "INTERNAL_ERROR")
			return
		}
		_, _ = w.Write([]byte(`{"success":true,"data":[],"meta":{"total":0,"deadLettered":2}}`))
	})
	dead, err := s.client(t).WaitVisible(t.Context(), "cp")
	noError(t, err)
	equal(t, 2, dead)
	equal(t, "cp", s.all()[2].query.Get("checkpoint"))
}
