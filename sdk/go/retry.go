package livegraph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// maxInternalErrors is the number of attempts of a request that fails with 500: a defect of the server rarely
// disappears by waiting.
const maxInternalErrors = 5

// Unlimited is a total time of retries that only the context bounds.
const Unlimited time.Duration = -1

// Retry is how often failed requests are sent again. Fields that are 0 have their defaults.
type Retry struct {
	// First is the first wait, by default one second. It doubles with each attempt, and each wait is multiplied by a
	// random number between 0.5 and 1.5. If the server sends Retry-After, the wait is exactly that time.
	First time.Duration
	// Max is the longest wait before the multiplication, by default 30 seconds.
	Max time.Duration
	// Total is the time after which no further attempt begins, by default one minute. The last one may take as long as
	// the timeout of the client. [Unlimited]: the context alone
	// bounds the attempts.
	Total time.Duration
	// MaxAttempts is the number of attempts. 1: a request is never repeated. 0: any number.
	MaxAttempts int
	// OnWait is called before each wait with the request, the reason and the duration, in the goroutine of the request.
	// It must not change the request. May be nil.
	OnWait func(request *Request, err error, wait time.Duration)
}

func (r Retry) withDefaults() Retry {
	if r.First <= 0 {
		r.First = time.Second
	}
	if r.Max <= 0 {
		r.Max = 30 * time.Second
	}
	if r.Total == 0 {
		r.Total = time.Minute
	}
	return r
}

// minServerWait is the time from which on a server that answers with 504 has waited before.
const minServerWait = 200 * time.Millisecond

// attempts are the attempts of one request.
type attempts struct {
	retry    Retry
	request  *Request
	began    time.Time
	sent     time.Time     // the last attempt
	next     time.Duration // the next wait, before the multiplication
	count    int
	internal int
}

func newAttempts(retry Retry, request *Request) *attempts {
	return &attempts{retry: retry, request: request, began: time.Now(), next: retry.First}
}

// begin is called when an attempt begins. Its timeout does not depend on the time that is left: a request that is
// ended early may have been executed.
func (a *attempts) begin() { a.sent = time.Now() }

// wait waits until the next attempt. It returns the error if there is none, or the cause of the end of the context.
func (a *attempts) wait(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx, err)
	}
	wait, ok := a.nextWait(err)
	if !ok {
		return err
	}
	if a.retry.OnWait != nil && wait > 0 {
		a.retry.OnWait(a.request, err, wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return interrupted(ctx, err)
	}
}

// interrupted returns the error of a request whose context ended, with that of the last attempt.
func interrupted(ctx context.Context, err error) error {
	return fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), err)
}

// nextWait returns the time until the next attempt, and false if there is none.
func (a *attempts) nextWait(err error) (time.Duration, bool) {
	a.count++
	if !a.isTransient(err) || a.count == a.retry.MaxAttempts {
		return 0, false
	}
	var api *APIError
	wait := time.Duration(0)
	switch hasResponse := errors.As(err, &api); {
	case hasResponse && a.request.waits && api.Status == http.StatusGatewayTimeout && time.Since(a.sent) >= minServerWait:
	case hasResponse && api.RetryAfter > 0:
		wait = api.RetryAfter
	default:
		wait = time.Duration(float64(a.next) * (0.5 + rand.Float64())) //nolint:gosec // jitter is no secret
		a.next = min(2*a.next, a.retry.Max)
	}
	return wait, a.retry.Total < 0 || time.Since(a.began)+wait < a.retry.Total
}

func (a *attempts) isTransient(err error) bool {
	repeatable := !a.request.Once
	var key *KeyError
	if errors.As(err, &key) {
		return true // refused before it was executed
	}
	var transport *TransportError
	if errors.As(err, &transport) {
		return repeatable || !transport.Sent
	}
	var api *APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.Status {
	case http.StatusTooManyRequests:
		return true // refused before it was executed
	case http.StatusConflict:
		// With Retry-After, the server still processes the first attempt with the same idempotency key.
		return repeatable && api.RetryAfter > 0
	case http.StatusInternalServerError:
		a.internal++
		return repeatable && a.internal < maxInternalErrors
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return repeatable
	}
	return false
}
