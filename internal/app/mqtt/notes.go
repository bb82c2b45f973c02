package mqtt

import "time"

const (
	noteInterval = 10 * time.Second
	maxNotes     = 200 // different reasons
)

// notes decides which occurrences of a reason are logged.
type notes map[string]*note

type note struct {
	loggedAt time.Time
	skipped  int
}

// add counts an occurrence. It reports whether to log it, and how many were not logged since the last time.
func (n *notes) add(reason string, now time.Time) (skipped int, log bool) {
	if *n == nil || len(*n) >= maxNotes && (*n)[reason] == nil {
		*n = notes{}
	}
	seen := (*n)[reason]
	if seen == nil {
		(*n)[reason] = &note{loggedAt: now}
		return 0, true
	}
	if now.Sub(seen.loggedAt) < noteInterval {
		seen.skipped++
		return 0, false
	}
	skipped, *seen = seen.skipped, note{loggedAt: now}
	return skipped, true
}
