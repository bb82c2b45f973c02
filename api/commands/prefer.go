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
	maxWait     = 30 * time.Second
)

// ReadWaitTimeout parses the preference "wait" (RFC 7240), in seconds, and writes the applied
// value to the response. Unknown preferences are ignored, as the RFC requires.
func ReadWaitTimeout(w http.ResponseWriter, r *http.Request) (time.Duration, error) {
	for _, header := range r.Header.Values("Prefer") {
		for preference := range strings.SplitSeq(header, ",") {
			preference, _, _ = strings.Cut(preference, ";") // removes parameters: wait has none
			name, value, _ := strings.Cut(preference, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 32)
			if err != nil {
				return 0, fault.Field(fault.Malformed, "Prefer", "wait must be a number of seconds").
					With("limit", int(maxWait.Seconds())).Because(err)
			}
			timeout := min(time.Duration(seconds)*time.Second, maxWait)
			w.Header().Set("Preference-Applied", fmt.Sprintf("wait=%d", int(timeout.Seconds())))
			return timeout, nil // the first one applies
		}
	}
	return defaultWait, nil
}
