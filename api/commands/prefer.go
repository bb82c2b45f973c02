package commands

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// How long a command's outcome is waited for.
const (
	defaultWait = 10 * time.Second
	longestWait = 30 * time.Second
)

// readWaitTimeout reads the preference "wait" (RFC 7240), seconds, and notes in the answer
// what of it is applied. Preferences that are not known are left alone, as that
// document wants.
func readWaitTimeout(w http.ResponseWriter, r *http.Request) (time.Duration, error) {
	for _, header := range r.Header.Values("Prefer") {
		for preference := range strings.SplitSeq(header, ",") {
			preference, _, _ = strings.Cut(preference, ";") // parameters: wait has none
			name, value, _ := strings.Cut(preference, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 32)
			if err != nil {
				return 0, fault.Field(fault.Malformed, "Prefer", "wait must be a number of seconds").
					With("limit", int(longestWait.Seconds())).Because(err)
			}
			wait := min(time.Duration(seconds)*time.Second, longestWait)
			w.Header().Set("Preference-Applied", fmt.Sprintf("wait=%d", int(wait.Seconds())))
			return wait, nil // the first one counts
		}
	}
	return defaultWait, nil
}
