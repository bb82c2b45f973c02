package ratelimit

import (
	"time"

	"github.com/google/uuid"
)

// Plan is the limits of a workspace. A limit of [Unlimited] or more means no limit.
type Plan struct{ PerMinute, PerDay int64 }

func (p Plan) bounded() Plan {
	return Plan{PerMinute: min(p.PerMinute, Unlimited), PerDay: min(p.PerDay, Unlimited)}
}

func (p Plan) unlimited() bool { return p.PerMinute >= Unlimited && p.PerDay >= Unlimited }

func (p Plan) limits() [2]int64 { return [2]int64{p.PerMinute, p.PerDay} }

// WorkspacePlan is a workspace with its plan.
type WorkspacePlan struct {
	Workspace uuid.UUID
	Plan      Plan
}

// Names of the windows.
const (
	Minute = "minute"
	Day    = "day"
)

// Window is the state of a workspace in a minute or a day.
type Window struct {
	Name      string
	Limit     int64 // Unlimited: none
	Remaining int64 // Unlimited if Limit is
	Length    time.Duration
	Reset     time.Time     // start of the next window
	Wait      time.Duration // time until Reset, above 0
}

// Status is the state of a workspace in both windows.
type Status struct {
	Minute, Day Window
	refused     bool
}

// Exceeded returns the window that refuses the request, or nil. If both do, it returns the
// day, because the request would still be refused after the minute.
func (s *Status) Exceeded() *Window {
	switch {
	case !s.refused:
		return nil
	case s.Day.Remaining == 0:
		return &s.Day
	}
	return &s.Minute
}

// Effective returns the window that refuses the request. If none does, it returns the window
// with fewer remaining requests, or the minute if they are equal.
func (s *Status) Effective() *Window {
	switch w := s.Exceeded(); {
	case w != nil:
		return w
	case s.Day.Remaining < s.Minute.Remaining:
		return &s.Day
	}
	return &s.Minute
}

// standing returns the state of a plan with the given counts at the time now.
func (l *Limiter) standing(plan Plan, now time.Time, counts [2]int64, refused bool) Status {
	limits := plan.limits()
	window := func(i int, name string) Window {
		reset := windowStart(windowNumber(now, l.lengths[i])+1, l.lengths[i])
		w := Window{
			Name: name, Limit: limits[i], Remaining: Unlimited, Length: l.lengths[i], Reset: reset, Wait: reset.Sub(now),
		}
		if w.Limit < Unlimited {
			w.Remaining = max(w.Limit-counts[i], 0)
		}
		return w
	}
	return Status{Minute: window(0, Minute), Day: window(1, Day), refused: refused}
}

// windowNumber returns the number of the window that contains t. Windows are counted from 1970.
func windowNumber(t time.Time, length time.Duration) int64 { return t.UnixNano() / int64(length) }

// windowStart returns the start of a window.
func windowStart(number int64, length time.Duration) time.Time {
	return time.Unix(0, number*int64(length)).UTC()
}
