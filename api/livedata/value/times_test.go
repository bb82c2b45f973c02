package value

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTimesAreReadInAllForms(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 40, 8, 290_296_000, time.UTC)
	for text, want := range map[string]time.Time{
		"now": now, "-15m": now.Add(-15 * time.Minute), "now-15m": now.Add(-15 * time.Minute), "-2w": now.AddDate(0, 0, -14),
		"-1d":           now.AddDate(0, 0, -1),
		"1795246808290": now.Truncate(time.Millisecond), "0": time.Unix(0, 0), "2026-11-21T08:40:08.290296+01:00": now,
		"2026-11-21T07:40:08.290296999Z": now,
		"1969-12-31T23:59:59Z":           time.Unix(0, 0), "-999999w": time.Unix(0, 0),
		"-99999999999999999999s": time.Unix(0, 0),
		"9999-12-31T23:59:59Z":   time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		us, problem := ParseTime(text, now)
		require.Empty(t, problem, text)
		require.Equal(t, want.UTC(), time.UnixMicro(us).UTC(), text)
	}
}

func TestTimestampsAreThoseOfPackageTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Clock // shared, because it caches the date
		for _, us := range rapid.SliceOfN(
			rapid.OneOf(rapid.Int64Range(-3e14, 11e15), rapid.Map(rapid.Int64Range(0, 3*24*3600), func(s int64) int64 {
				return s * 1e6
			})),
			1, 20,
		).Draw(t, "us") {
			require.Equal(t, time.UnixMicro(us).UTC().Format(time.RFC3339Nano), string(c.Append(nil, us)))
		}
	})
}
