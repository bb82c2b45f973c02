package weather

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheSetIsLargeAndLongEnough(t *testing.T) {
	stations, err := Stations()
	require.NoError(t, err)
	require.Len(t, stations, 2)
	numbers := 0
	for _, s := range stations {
		require.Len(t, s.Days, 1461)
		require.GreaterOrEqual(t, s.Days[len(s.Days)-1].Sub(s.Days[0]), 365*24*time.Hour)
		for i := range s.Days[1:] {
			require.Equal(t, 24*time.Hour, s.Days[i+1].Sub(s.Days[i]), "every day is there once")
		}
		require.Equal(t, 5*1461, len(s.Days)*len(s.Series))
		require.Len(t, s.Source.Metrics, 5)
		for i, c := range s.Series {
			require.Equal(t, s.Source.Metrics[i].Name, c.Metric)
			require.Len(t, c.Timestamps, len(s.Days))
			require.EqualValues(t, 1325376000000, c.Timestamps[0], "midnight of 2012-01-01 in UTC")
			require.Equal(t, len(s.Days), len(c.Numbers)+len(c.Strings), c.Metric)
			require.True(t, (c.Numbers == nil) != (c.Strings == nil))
			numbers += len(c.Numbers)
		}
	}
	require.Equal(t, 11688, numbers)
	require.GreaterOrEqual(t, numbers, 5000)
}

func TestTheMeasurementsAreWeather(t *testing.T) {
	stations, err := Stations()
	require.NoError(t, err)
	require.Equal(t, []string{"weather/seattle", "weather/new-york"},
		[]string{stations[0].Source.Name, stations[1].Source.Name})
	for _, s := range stations {
		highest, lowest := s.Series[1].Numbers, s.Series[2].Numbers
		for i := range s.Days {
			require.GreaterOrEqual(t, highest[i], lowest[i], "%s %s", s.Place, s.Days[i])
			require.InDelta(t, 10, highest[i], 40)
			require.GreaterOrEqual(t, s.Series[0].Numbers[i], 0.0)
			require.InDelta(t, 10, s.Series[3].Numbers[i], 10)
			require.Contains(t, []string{"drizzle", "fog", "rain", "snow", "sun"}, s.Series[4].Strings[i])
		}
	}
}

func TestTheFileIsTheOneThatThePackageShips(t *testing.T) {
	sum := sha256.Sum256([]byte(file))
	about, err := os.ReadFile("SOURCE.md")
	require.NoError(t, err)
	require.Contains(t, string(about), hex.EncodeToString(sum[:]))
	script, err := os.ReadFile("refresh.sh")
	require.NoError(t, err)
	require.Contains(t, string(script), hex.EncodeToString(sum[:]))
	require.Contains(t, string(script), strings.Replace(Package, " ", "@", 1))
}
