// Package retryafter parses the Retry-After header.
package retryafter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Parse returns the duration to wait from now, for a header with seconds or a date. It returns 0
// if the header is missing or invalid.
func Parse(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
