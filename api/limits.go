package api

import (
	"fmt"
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
	h.Set("X-RateLimit-Limit", strconv.FormatInt(nearest.Limit, 10))
	h.Set("X-RateLimit-Remaining", strconv.FormatInt(nearest.Remaining, 10))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(nearest.Reset.Unix(), 10))
	h.Set("RateLimit-Policy", formatPolicy(minute)+", "+formatPolicy(day))
	h.Set("RateLimit", formatRemaining(minute)+", "+formatRemaining(day))
}

func formatPolicy(w *ratelimit.Window) string {
	return fmt.Sprintf(`"%s";q=%d;w=%d`, w.Name, w.Limit, seconds(w.Length))
}

func formatRemaining(w *ratelimit.Window) string {
	return fmt.Sprintf(`"%s";r=%d;t=%d`, w.Name, w.Remaining, seconds(w.Wait))
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
