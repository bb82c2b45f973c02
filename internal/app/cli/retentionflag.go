package cli

import (
	"fmt"
	"strconv"

	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// retentionFlag is a flag for the number of days that points are kept: a number, or none
// to keep them forever.
type retentionFlag struct{ days *int32 }

// UnmarshalText reads the flag.
func (r *retentionFlag) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		r.days = nil
		return nil
	}
	days, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil || days < 1 || days > registry.MaxRetentionDays {
		return fmt.Errorf("must be a number of days from 1 to %d, or none, and is %q", registry.MaxRetentionDays, text)
	}
	r.days = new(int32(days))
	return nil
}

func retentionText(days *int32) string {
	if days == nil {
		return "permanently"
	}
	return plural.Count(*days, "day")
}
