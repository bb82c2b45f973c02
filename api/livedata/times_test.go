package livedata

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
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
		us, problem := parseTime(text, now)
		require.Empty(t, problem, text)
		require.Equal(t, want.UTC(), time.UnixMicro(us).UTC(), text)
	}
}

func TestNoTextBreaksTheParsers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(now)?-?[0-9]{0,25}[smhdwy]?`)).Draw(t, "text")
		us, problem := parseTime(text, time.Now())
		if problem == "" {
			require.GreaterOrEqual(t, us, int64(0))
		}
		if interval, problem := parseInterval(text); problem == "" {
			require.GreaterOrEqual(t, interval, minInterval)
			require.LessOrEqual(t, interval, maxInterval)
		}
		if f, ok := parseFill(text); ok && f.mode == fillNumber {
			require.False(t, math.IsNaN(f.value) || math.IsInf(f.value, 0))
		}
		_, _ = parseZone(text)
	})
}

func TestCellsAreJSONThatReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64().Draw(t, "number")
		text := rapid.String().Draw(t, "text")
		us := rapid.Int64Range(0, 4e15).Draw(t, "us")
		parts := partsOf(&timeseries.Points{TS: []int64{us, us}, Columns: []timeseries.Column{
			{Numbers: []float64{number, math.NaN()}}, {Texts: []*string{&text, nil}}}}, []byte("["), []byte("]"))
		require.Len(t, parts, 1)
		written := (&run{q: &queryParams{}}).appendPart(nil, &parts[0])
		var read [][]any
		require.NoError(t, json.Unmarshal(written, &read), "%s", written)
		require.Equal(t, time.UnixMicro(us).UTC().Format(time.RFC3339Nano), read[0][0])
		require.Equal(t, math.Float64bits(number), math.Float64bits(read[0][1].(float64)))
		require.Equal(t, text, read[0][2])
		require.Nil(t, read[1][1])
		require.Nil(t, read[1][2])
		for epoch, divisor := range map[string]int64{"ms": 1000, "us": 1} {
			require.Equal(t, strconv.FormatInt(us/divisor, 10), string(new(clock).appendTimestamp(nil, us, epoch)))
		}
	})
}

func TestTimestampsAreThoseOfPackageTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c clock // one for all: it remembers
		for _, us := range rapid.SliceOfN(
			rapid.OneOf(rapid.Int64Range(-3e14, 11e15), rapid.Map(rapid.Int64Range(0, 3*24*3600), func(s int64) int64 {
				return s * 1e6
			})),
			1, 20,
		).Draw(t, "us") {
			require.Equal(t, time.UnixMicro(us).UTC().Format(time.RFC3339Nano), string(c.append(nil, us)))
		}
	})
}

func TestRoomForAnswersIsBounded(t *testing.T) {
	var m room
	release, err := m.take(maxRoom)
	require.NoError(t, err)
	_, err = m.take(1)
	require.Error(t, err)
	release()
	release, err = m.take(1)
	require.NoError(t, err)
	release()
	require.Zero(t, m.used.Load())
}
