package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/livegraph/livegraph/api/request"
)

// timeFlag is a time on the command line: RFC 3339, or an age.
type timeFlag struct{ time.Time }

// Decode reads the flag.
func (m *timeFlag) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	if at, ok := request.ParseTime(text); ok {
		m.Time = at
		return nil
	}
	age, err := parseDuration(strings.TrimPrefix(text, "-"))
	if err != nil {
		return fmt.Errorf("%q is neither a time such as 2026-11-21T07:40:08Z nor an age such as 2h or 7d", text)
	}
	m.Time = time.Now().Add(-age)
	return nil
}

// pointer returns the time; nil: the flag was not given.
func (m *timeFlag) pointer() *time.Time {
	if m == nil {
		return nil
	}
	return &m.Time
}
