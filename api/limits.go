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

// planOf returns the requests that a workspace of the credential has.
func planOf(credential *access.Credential, workspace uuid.UUID) ratelimit.Plan {
	access := credential.Workspaces[workspace]
	return plan(access.PerMinute, access.PerDay)
}

func plan(perMinute, perDay *int64) ratelimit.Plan {
	p := ratelimit.Plan{PerMinute: ratelimit.Unlimited, PerDay: ratelimit.Unlimited}
	if perMinute != nil {
		p.PerMinute = *perMinute
	}
	if perDay != nil {
		p.PerDay = *perDay
	}
	return p
}

// tellLimits sets the headers of an answer in a workspace: those of the
// specification, of the window that is used up first, and those of the IETF's
// draft-ietf-httpapi-ratelimit-headers-10, of both.
func tellLimits(h http.Header, standing *ratelimit.Standing) {
	nearest, minute, day := standing.Nearest(), &standing.Minute, &standing.Day
	h.Set("X-RateLimit-Limit", strconv.FormatInt(nearest.Limit, 10))
	h.Set("X-RateLimit-Remaining", strconv.FormatInt(nearest.Remaining, 10))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(nearest.Reset.Unix(), 10))
	h.Set("RateLimit-Policy", policy(minute)+", "+policy(day))
	h.Set("RateLimit", left(minute)+", "+left(day))
}

func policy(w *ratelimit.Window) string {
	return fmt.Sprintf(`"%s";q=%d;w=%d`, w.Name, w.Limit, seconds(w.Length))
}

func left(w *ratelimit.Window) string {
	return fmt.Sprintf(`"%s";r=%d;t=%d`, w.Name, w.Remaining, seconds(w.Wait))
}

// seconds rounds up: anyone who waits as long as he is told is not too early.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

// exceeds refuses a request that its workspace's plan has no room for.
func exceeds(standing *ratelimit.Standing) error {
	w := standing.Refusing()
	if w == nil {
		return nil
	}
	return fault.Newf(fault.RateLimited, "The workspace's %s used up", plural.CountOf(
		w.Limit, "request a "+w.Name+" is", "requests a "+w.Name+" are",
	)).
		With("window", w.Name).With("limit", w.Limit).After(w.Wait)
}

// attempt counts a failed authentication by the caller's address, and above the limit
// tells the caller to stop instead of what was wrong. A request without any
// Authorization is no attempt.
func (s *Server) attempt(r *http.Request, refusal string, err error) (string, error) {
	if refusal != refusedScheme && refusal != refusedKey {
		return refusal, err
	}
	if wait := s.attempts.Failed(exchangeOf(r.Context()).ip, time.Now()); wait > 0 {
		return refusedAttempts, fault.New(fault.RateLimited, "Too many failed authentications").After(wait)
	}
	return refusal, err
}
