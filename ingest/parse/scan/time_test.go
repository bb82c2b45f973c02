package scan

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRFC3339TimesAreReadToTheMicrosecond(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-21T07:40:08Z":                   "2026-11-21T07:40:08Z",
		"2026-11-21T07:40:08.290296Z":            "2026-11-21T07:40:08.290296Z",
		"2026-11-21T07:40:08.2902969Z":           "2026-11-21T07:40:08.290296Z",
		"2026-11-21T07:40:08.290296999999999Z":   "2026-11-21T07:40:08.290296Z",
		"2026-11-21T07:40:08.2Z":                 "2026-11-21T07:40:08.2Z",
		"2026-11-21t07:40:08z":                   "2026-11-21T07:40:08Z",
		"2026-11-21T07:40:08+05:30":              "2026-11-21T02:10:08Z",
		"2026-11-21T00:40:08.5-23:59":            "2026-11-22T00:39:08.5Z",
		"2026-11-21T07:40:08-00:00":              "2026-11-21T07:40:08Z",
		"2024-02-29T00:00:00Z":                   "2024-02-29T00:00:00Z",
		"2000-02-29T23:59:59Z":                   "2000-02-29T23:59:59Z",
		"1970-01-01T00:00:00Z":                   "1970-01-01T00:00:00Z",
		"1969-12-31T23:59:59Z":                   "1969-12-31T23:59:59Z",
		"0000-01-01T00:00:00Z":                   "0000-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z":                   "9999-12-31T23:59:59Z",
		"1970-01-01T00:30:00+01:00":              "1969-12-31T23:30:00Z",
		"2026-11-21T07:40:08.000000000000000Z":   "2026-11-21T07:40:08Z",
		"2026-11-21T07:40:08.00000000000000001Z": "2026-11-21T07:40:08Z",
	} {
		at, err := time.Parse(time.RFC3339Nano, want)
		require.NoError(t, err)
		us, ok := new(Calendar).Parse([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, at.UnixMicro(), us, text)
	}
}

func TestWhatIsNoRFC3339TimeIsRefused(t *testing.T) {
	var c Calendar
	for _, text := range []string{
		"", "now", "2026", "2026-11-21", "2026-11-21T07:40", "2026-11-21T07:40Z", "2026-11-21T07:40:08",
		"2026-11-21 07:40:08Z",
		"2026-02-30T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
		"2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
		"2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T07:60:00Z",
		"2016-12-31T23:59:60Z",
		"2026-11-21T07:40:08+24:00", "2026-11-21T07:40:08+01:60", "2026-11-21T07:40:08+0100", "2026-11-21T07:40:08+01",
		"2026-11-21T07:40:08 Z",
		"2026-11-21T07:40:08.Z", "2026-11-21T07:40:08,5Z", "2026-11-21T07:40:08.5", "2026-11-21T07:40:08ZZ",
		"2026-11-21T7:40:08Z", "+2026-11-21T07:40:08Z",
		"10000-01-01T00:00:00Z", "2026-1-21T07:40:08.00Z", "２026-11-21T07:40:08Z", "2026-11-21T07:40:08Zulu",
		"2026/11/21T07:40:08Z", "2026-11-21T07-40-08Z", "2026-11-21T-1:40:08Z",
	} {
		_, ok := c.Parse([]byte(text))
		require.False(t, ok, text)
	}
}

func TestTimesAgreeWithTheStandardLibrary(t *testing.T) {
	var c Calendar // reused, to test the cached date, too
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-62_167_219_200_000_000, 253_402_300_799_999_999).Draw(t, "us"))
		zone := time.FixedZone("", 60*rapid.IntRange(-1439, 1439).Draw(t, "zone"))
		text := at.In(zone).Format("2006-01-02T15:04:05.000000Z07:00")
		if want, err := time.Parse(time.RFC3339, text); err == nil {
			us, ok := c.Parse([]byte(text))
			require.True(t, ok, text)
			require.Equal(t, want.UnixMicro(), us, text)
		}
	})
}

func TestAnythingThatIsATimeForTheStandardLibraryIsOneHere(t *testing.T) {
	var c Calendar
	shape := rapid.StringMatching(
		`(19|20)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,9})?` +
			`(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`,
	)
	rapid.Check(t, func(t *rapid.T) {
		text := shape.Draw(t, "time")
		want, err := time.Parse(time.RFC3339, text)
		us, ok := c.Parse([]byte(text))
		require.Equal(t, err == nil, ok, text)
		if ok {
			require.Equal(t, want.UnixMicro(), us, text)
		}
	})
}

func TestEpochsAreScaledWithoutOverflow(t *testing.T) {
	for name, want := range map[string]int64{"s": 5_000_000, "ms": 5_000, "us": 5, "ns": 0} {
		u, ok := UnitOf(name)
		require.True(t, ok)
		require.Equal(t, want, u.Micros(5), name)
		require.GreaterOrEqual(t, u.Micros(math.MaxUint64), int64(math.MaxUint64/1000), name)
	}
	require.EqualValues(t, 1_795_246_808_290_296, Nanoseconds.Micros(1_795_246_808_290_296_999))
	require.EqualValues(t, math.MaxInt64, seconds.Micros(math.MaxUint64))
	require.EqualValues(t, math.MaxInt64, seconds.Micros(1<<63))
	require.EqualValues(t, 9_223_372_036_854_000_000, seconds.Micros(9_223_372_036_854))
	_, ok := UnitOf("m")
	require.False(t, ok)
}

func BenchmarkParseTime(b *testing.B) {
	var c Calendar
	in := []byte("2026-11-21T07:40:08.290296Z")
	for b.Loop() {
		if _, ok := c.Parse(in); !ok {
			b.Fatal("no time")
		}
	}
}
