package ratelimit

import (
	"time"

	"github.com/google/uuid"
)

// Plan is how many requests a workspace has; [Unlimited] or more: as many as it likes.
type Plan struct{ PerMinute, PerDay int64 }

func (p Plan) bounded() Plan {
	return Plan{PerMinute: min(p.PerMinute, Unlimited), PerDay: min(p.PerDay, Unlimited)}
}

func (p Plan) unlimited() bool { return p.PerMinute >= Unlimited && p.PerDay >= Unlimited }

func (p Plan) limits() [2]int64 { return [2]int64{p.PerMinute, p.PerDay} }

// Of is a workspace with its plan.
type Of struct {
	Workspace uuid.UUID
	Plan      Plan
}

// Names of the windows.
const (
	Minute = "minute"
	Day    = "day"
)

// Window is how a workspace stands in a minute or a day.
type Window struct {
	Name      string
	Limit     int64 // Unlimited: none
	Remaining int64 // Unlimited, where the limit is
	Length    time.Duration
	Reset     time.Time     // when the next one begins
	Wait      time.Duration // until then, above 0
}

// Standing is how a workspace stands in both windows.
type Standing struct {
	Minute, Day Window
	refused     bool
}

// Refusing returns the window that refuses the request, nil when none does. Where both
// do it is the day, as the end of the minute does not help.
func (s *Standing) Refusing() *Window {
	switch {
	case !s.refused:
		return nil
	case s.Day.Remaining == 0:
		return &s.Day
	}
	return &s.Minute
}

// Nearest returns the window to go by: the one that refuses; else the minute, unless
// the day has fewer left.
func (s *Standing) Nearest() *Window {
	switch w := s.Refusing(); {
	case w != nil:
		return w
	case s.Day.Remaining < s.Minute.Remaining:
		return &s.Day
	}
	return &s.Minute
}

// standing describes counts as of now.
func (l *Limiter) standing(plan Plan, now time.Time, counts [2]int64, refused bool) Standing {
	limits := plan.limits()
	window := func(i int, name string) Window {
		reset := start(numberOf(now, l.lengths[i])+1, l.lengths[i])
		w := Window{
			Name: name, Limit: limits[i], Remaining: Unlimited, Length: l.lengths[i], Reset: reset, Wait: reset.Sub(now),
		}
		if w.Limit < Unlimited {
			w.Remaining = max(w.Limit-counts[i], 0)
		}
		return w
	}
	return Standing{Minute: window(0, Minute), Day: window(1, Day), refused: refused}
}

// numberOf reports how many spans of the length lie between 1970 and the one that at is in.
func numberOf(at time.Time, length time.Duration) int64 { return at.UnixNano() / int64(length) }

// start is when the span of the number begins.
func start(number int64, length time.Duration) time.Time {
	return time.Unix(0, number*int64(length)).UTC()
}
