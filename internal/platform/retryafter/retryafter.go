// Package retryafter reads the header by which a server says when to come again.
package retryafter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Of returns how long to wait from now on, by seconds or a date; 0 if the header does
// not say, or not in a form of HTTP's.
func Of(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
