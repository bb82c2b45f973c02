package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/internal/platform/retryafter"
)

// Retry says how patiently calls are made again.
type Retry struct {
	First time.Duration // the first wait, doubling from there; default 1 s
	Most  time.Duration // the longest wait of our own; default 30 s
	// Total ends the attempts; 0: only the context does. A Retry-After that
	// reaches beyond it ends them at once.
	Total time.Duration
	// Waiting is told before each wait: why, and for how long. May be nil.
	Waiting func(err error, wait time.Duration)
}

// mostInternal is how often a call that the server fails to serve (500) is
// tried: that is a defect of the server's, which waiting seldom cures.
const mostInternal = 5

// RetryUntil returns a client like c, with its key of now and later, whose calls
// give up after total.
func (c *Client) RetryUntil(total time.Duration) *Client {
	retry := c.retry
	retry.Total = total
	return c.With(retry)
}

// With returns a client like c, with its key of now and later, that is patient in
// another way.
func (c *Client) With(retry Retry) *Client {
	other := *c
	other.retry = retry.withDefaults()
	return &other
}

func (r Retry) withDefaults() Retry {
	if r.First <= 0 {
		r.First = time.Second
	}
	if r.Most <= 0 {
		r.Most = 30 * time.Second
	}
	return r
}

// attempts calls once until it succeeds, fails for good, or time is up.
func attempts[T any](ctx context.Context, r Retry, once func() (T, error)) (T, error) {
	waits := retry.New(r.First, r.Most)
	var last error // what backoff is given has its own types around it
	internal := 0
	operation := func() (T, error) {
		result, err := once()
		last = err
		var fe *fault.Error
		if err == nil || !errors.As(err, &fe) {
			return result, err
		}
		switch fe.Kind {
		case fault.Internal:
			if internal++; internal >= mostInternal {
				return result, backoff.Permanent(err)
			}
			return result, err
		case fault.RateLimited, fault.BadGateway, fault.Unavailable, fault.Timeout:
			if fe.RetryAfter > 0 {
				return result, &backoff.RetryAfterError{Duration: fe.RetryAfter}
			}
			return result, err
		case fault.Conflict:
			// With a time to come again: the first attempt at this very call is still
			// being worked on.
			if fe.RetryAfter > 0 {
				return result, &backoff.RetryAfterError{Duration: fe.RetryAfter}
			}
		}
		return result, backoff.Permanent(err)
	}
	notify := func(_ error, wait time.Duration) {
		if r.Waiting != nil {
			r.Waiting(last, wait)
		}
	}
	result, err := backoff.Retry(ctx, operation,
		backoff.WithBackOff(waits), backoff.WithMaxElapsedTime(r.Total), backoff.WithNotify(notify))
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	default:
		return result, last
	}
}

// kinds gives the kind of error that a status stands for. It is the way back of
// the table by which the server answers.
var kinds = map[int]fault.Kind{
	http.StatusBadRequest:            fault.Malformed,
	http.StatusUnauthorized:          fault.Unauthenticated,
	http.StatusForbidden:             fault.Forbidden,
	http.StatusNotFound:              fault.NotFound,
	http.StatusMethodNotAllowed:      fault.MethodNotAllowed,
	http.StatusConflict:              fault.Conflict,
	http.StatusRequestEntityTooLarge: fault.TooLarge,
	http.StatusUnsupportedMediaType:  fault.UnsupportedMedia,
	http.StatusUnprocessableEntity:   fault.Invalid,
	http.StatusTooManyRequests:       fault.RateLimited,
	http.StatusBadGateway:            fault.BadGateway,
	http.StatusServiceUnavailable:    fault.Unavailable,
	http.StatusGatewayTimeout:        fault.Timeout,
}

// statusOf returns the status that a code has where there is none, in a batch.
func statusOf(code string) int {
	switch code {
	case "VALIDATION_ERROR":
		return http.StatusUnprocessableEntity
	case "AUTHORIZATION_ERROR":
		return http.StatusForbidden
	case "NOT_FOUND":
		return http.StatusNotFound
	case "CONFLICT":
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// failure makes the error of an answer that is not a success, anyone who gave it:
// a proxy on the way may answer without the envelope.
func failure(r *http.Request, response *http.Response, payload []byte) error {
	var answer envelope[any]
	if json.Unmarshal(payload, &answer) != nil {
		answer.Error = refusal{}
	}
	return answer.Error.fault(response.StatusCode).After(retryafter.Of(response.Header)).
		Because(because(r.Method, r.URL.Path, response.StatusCode, answer.Error.Code, answer.RequestID))
}

// fault makes the error that a refusal with a status stands for.
func (r refusal) fault(status int) *fault.Error {
	kind, known := kinds[status]
	if !known {
		kind = fault.Internal
		if status < 500 {
			kind = fault.Malformed // a redirect or an odd refusal: asking again changes nothing
		}
	}
	err := fault.New(kind, cmp.Or(r.Message, http.StatusText(status)))
	err.Details = r.Details
	return err
}

// because reports where an error came from, for anyone who looks into it.
func because(method, path string, status int, code, requestID string) error {
	return fmt.Errorf("%s %s answered %d %s, request %s", method, path, status, code, requestID)
}
