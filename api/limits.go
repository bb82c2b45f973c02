package api

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// planOf returns the request limits of a workspace of the credential.
func planOf(credential *access.Credential, workspace uuid.UUID) ratelimit.Plan {
	granted := credential.Workspaces[workspace]
	return newPlan(granted.PerMinute, granted.PerDay)
}

func newPlan(perMinute, perDay *int64) ratelimit.Plan {
	p := ratelimit.Plan{PerMinute: ratelimit.Unlimited, PerDay: ratelimit.Unlimited}
	if perMinute != nil {
		p.PerMinute = *perMinute
	}
	if perDay != nil {
		p.PerDay = *perDay
	}
	return p
}

// setLimitHeaders sets the rate limit headers of a response in a workspace. The X-RateLimit
// headers report the window that is exhausted first. Those of
// draft-ietf-httpapi-ratelimit-headers-10 report both windows.
func setLimitHeaders(h http.Header, status *ratelimit.Status) {
	nearest, minute, day := status.Effective(), &status.Minute, &status.Day
	// Each response has these headers, so they are set by their canonical names and formatted without fmt.
	values := [...]string{
		strconv.FormatInt(nearest.Limit, 10), strconv.FormatInt(nearest.Remaining, 10),
		strconv.FormatInt(nearest.Reset.Unix(), 10),
		formatWindows(minute, day, "q", "w", func(w *ratelimit.Window) (int64, time.Duration) { return w.Limit, w.Length }),
		formatWindows(minute, day, "r", "t", func(w *ratelimit.Window) (int64, time.Duration) { return w.Remaining, w.Wait }),
	}
	for i, name := range limitHeaders {
		h[name] = values[i : i+1 : i+1]
	}
}

// limitHeaders are the canonical names of the rate limit headers.
var limitHeaders = [...]string{
	http.CanonicalHeaderKey("X-RateLimit-Limit"), http.CanonicalHeaderKey("X-RateLimit-Remaining"),
	http.CanonicalHeaderKey("X-RateLimit-Reset"), http.CanonicalHeaderKey("RateLimit-Policy"),
	http.CanonicalHeaderKey("RateLimit"),
}

// formatWindows returns the list of two windows, each with a number of requests and a duration as parameters.
func formatWindows(
	minute, day *ratelimit.Window, number, duration string, of func(*ratelimit.Window) (int64, time.Duration),
) string {
	list := make([]byte, 0, 64)
	for i, w := range [...]*ratelimit.Window{minute, day} {
		if i > 0 {
			list = append(list, ", "...)
		}
		requests, length := of(w)
		list = append(append(append(list, '"'), w.Name...), '"', ';')
		list = strconv.AppendInt(append(append(list, number...), '='), requests, 10)
		list = strconv.AppendInt(append(append(append(list, ';'), duration...), '='), seconds(length), 10)
	}
	return string(list)
}

// seconds rounds up, so that a client that waits for this time does not retry too early.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

// checkPlan returns an error if the request exceeds the plan of its workspace.
func checkPlan(status *ratelimit.Status) error {
	w := status.Exceeded()
	if w == nil {
		return nil
	}
	return fault.Newf(fault.RateLimited, "The workspace's %s used up", plural.CountOf(
		w.Limit, "request a "+w.Name+" is", "requests a "+w.Name+" are",
	)).
		With("window", w.Name).With("limit", w.Limit).After(w.Wait)
}

// countFailedAuth counts a failed authentication by the caller's address. Above the limit it
// returns a RateLimited error in place of err. A request without an Authorization header is
// not counted.
func (s *Server) countFailedAuth(r *http.Request, refusal string, err error) (string, error) {
	if refusal != refusedScheme && refusal != refusedKey {
		return refusal, err
	}
	if wait := s.attempts.Failed(exchangeOf(r.Context()).ip, time.Now()); wait > 0 {
		return refusedAttempts, fault.New(fault.RateLimited, "Too many failed authentications").After(wait)
	}
	return refusal, err
}
