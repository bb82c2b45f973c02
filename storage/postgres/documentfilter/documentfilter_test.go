package documentfilter

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTextsOfTimesHaveTheOrderOfTime(t *testing.T) {
	t.Parallel()
	first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) time.Time {
			seconds := rapid.Int64Range(first.Unix(), last.Unix()).Draw(t, name)
			// Fractions of few digits, which are left out at the end of a text.
			digits := []int64{1, 1_000, 1_000_000, 100_000_000, 1_000_000_000}
			unit := rapid.SampledFrom(digits).Draw(t, name+" unit")
			fraction := rapid.Int64Range(0, 1_000_000_000/unit).Draw(t, name+" fraction") * unit % 1_000_000_000
			zone := time.FixedZone("", rapid.IntRange(-12, 12).Draw(t, name+" zone")*3600)
			return time.Unix(seconds, fraction).In(zone)
		}
		a := draw("a")
		b := a.Add(time.Duration(rapid.Int64Range(-2_000_000_000, 2_000_000_000).Draw(t, "distance")))
		if rapid.Bool().Draw(t, "far") {
			b = draw("b")
		}
		if b.Before(first) || b.After(last) {
			t.Skip("outside of the years that RFC 3339 has")
		}
		require.Equal(t, a.Compare(b), cmp.Compare(timestampText(a), timestampText(b)), "%s %s", a, b)
		require.LessOrEqual(t, len(timestampText(a)), len("2006-01-02T15:04:05.000000001"))
	})
}
