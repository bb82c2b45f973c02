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

// Retry is the retry policy of calls.
type Retry struct {
	First time.Duration // the first wait, which doubles with each attempt; default 1 s
	Max   time.Duration // the maximum wait without Retry-After; default 30 s
	// Total bounds the time of all attempts; 0: until the context ends. A Retry-After beyond
	// it ends the attempts at once.
	Total time.Duration
	// OnWait is called before each wait with its reason and duration. May be nil.
	OnWait func(err error, wait time.Duration)
}

// maxInternalErrors is the number of attempts of a call that fails with an internal error
// (500). It is low because a defect of the server rarely disappears by waiting.
const maxInternalErrors = 5

// RetryUntil returns a client that shares the key of c and whose calls give up after total.
func (c *Client) RetryUntil(total time.Duration) *Client {
	retry := c.retry
	retry.Total = total
	return c.WithRetry(retry)
}

// WithRetry returns a client that shares the key of c and uses another retry policy.
func (c *Client) WithRetry(retry Retry) *Client {
	other := *c
	other.retry = retry.withDefaults()
	return &other
}

func (r Retry) withDefaults() Retry {
	if r.First <= 0 {
		r.First = time.Second
	}
	if r.Max <= 0 {
		r.Max = 30 * time.Second
	}
	return r
}

// retryCall calls attempt until it succeeds, fails permanently, or the time is over.
func retryCall[T any](ctx context.Context, r Retry, attempt func() (T, error)) (T, error) {
	waits := retry.New(r.First, r.Max)
	var lastErr error // without the types that the package backoff wraps errors in
	internal := 0
	operation := func() (T, error) {
		result, err := attempt()
		lastErr = err
		var fe *fault.Error
		if err == nil || !errors.As(err, &fe) {
			return result, err
		}
		switch fe.Kind {
		case fault.Internal:
			if internal++; internal >= maxInternalErrors {
				return result, backoff.Permanent(err)
			}
			return result, err
		case fault.RateLimited, fault.BadGateway, fault.Unavailable, fault.Timeout:
			if fe.RetryAfter > 0 {
				return result, &backoff.RetryAfterError{Duration: fe.RetryAfter}
			}
			return result, err
		case fault.Conflict:
			// With Retry-After the conflict means that the server still processes the first
			// attempt of this call.
			if fe.RetryAfter > 0 {
				return result, &backoff.RetryAfterError{Duration: fe.RetryAfter}
			}
		}
		return result, backoff.Permanent(err)
	}
	notify := func(_ error, wait time.Duration) {
		if r.OnWait != nil {
			r.OnWait(lastErr, wait)
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
		return result, lastErr
	}
}

// kindOfStatus maps a status to the kind of error. It is the inverse of the server's table.
var kindOfStatus = map[int]fault.Kind{
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

// statusOf returns the status for an error code in a batch, where no status is sent.
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

// failure returns the error for an answer that is not a success. A proxy may have answered
// without the envelope.
func failure(r *http.Request, response *http.Response, payload []byte) error {
	var answer envelope[any]
	if json.Unmarshal(payload, &answer) != nil {
		answer.Error = apiError{}
	}
	return answer.Error.toFault(response.StatusCode).After(retryafter.Parse(response.Header)).
		Because(cause(r.Method, r.URL.Path, response.StatusCode, answer.Error.Code, answer.RequestID))
}

// toFault returns the error for an answer with this status.
func (r apiError) toFault(status int) *fault.Error {
	kind, known := kindOfStatus[status]
	if !known {
		kind = fault.Internal
		if status < 500 {
			kind = fault.Malformed // a redirect or an unexpected refusal: a retry does not help
		}
	}
	err := fault.New(kind, cmp.Or(r.Message, http.StatusText(status)))
	err.Details = r.Details
	return err
}

// cause returns an error with the request and its id, for debugging.
func cause(method, path string, status int, code, requestID string) error {
	return fmt.Errorf("%s %s answered %d %s, request %s", method, path, status, code, requestID)
}
