package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// durationFlag is a duration that may also be written in days (90d) or weeks (12w).
type durationFlag time.Duration

// maxDuration keeps times within the range of Postgres and JSON.
const maxDuration = 100 * 365 * 24 * time.Hour

// Decode reads the flag.
func (l *durationFlag) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := parseDuration(text)
	*l = durationFlag(d)
	return err
}

func parseDuration(text string) (time.Duration, error) {
	days := map[byte]int{'d': 1, 'w': 7}
	var d time.Duration
	var err error
	if n := len(text) - 1; n > 0 && days[text[n]] > 0 {
		var count int
		if count, err = strconv.Atoi(text[:n]); err == nil && count > int(maxDuration/(24*time.Hour)) {
			return 0, fmt.Errorf("%q is longer than 100 years", text)
		}
		count = max(count, 0) // a large negative count would overflow to a positive duration
		d = time.Duration(count*days[text[n]]) * 24 * time.Hour
	} else {
		d, err = time.ParseDuration(text)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 90d or 12h", text)
	case d <= 0:
		return 0, fmt.Errorf("%q is not above zero", text)
	case d > maxDuration:
		return 0, fmt.Errorf("%q is longer than 100 years", text)
	}
	return d, nil
}
