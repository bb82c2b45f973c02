package cli

import (
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// FuzzFlags checks that any text for a duration, a time, offsets, a retention, a status
// or an address is either a value within its bounds or an error.
func FuzzFlags(f *testing.F) {
	for _, text := range []string{
		"90d", "12w", "1h30m", "-1d", "99999999999999999999d", "-1537228672809129302w", "2026-11-21T07:40:08Z", "--7d",
		"0:1200,3:5", "0:1,0:2", "-1:0", "none", "36500", "36501", "4xx", "099", "::1", "fe80::1%eth0", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseDuration(text); err == nil {
			require.True(t, d > 0 && d <= maxDuration, "%q is %s", text, d)
		}
		var flags struct {
			At      timeFlag
			From    offsetsFlag
			Days    retentionFlag
			Status  statusFlag
			Address addressFlag
		}
		parser, err := kong.New(&flags, kong.Exit(func(int) { t.Error("kong exited") }))
		require.NoError(t, err)
		for _, name := range []string{"at", "from", "days", "status", "address"} {
			_, _ = parser.Parse([]string{"--" + name + "=" + text})
		}
		require.False(t, flags.At.After(time.Now().AddDate(10_000, 0, 0)))
		for partition, offset := range flags.From {
			require.True(t, partition >= 0 && offset >= 0)
		}
		require.True(t, flags.Days.days == nil || *flags.Days.days >= 1)
	})
}
