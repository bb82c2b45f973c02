package query

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/internal/platform/budget"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

func TestNoTextBreaksTheParsers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(now)?-?[0-9]{0,25}[smhdwy]?`)).Draw(t, "text")
		us, problem := value.ParseTime(text, time.Now())
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
		parts := chunksOf(&timeseries.Points{TS: []int64{us, us}, Columns: []timeseries.Column{
			{Numbers: []float64{number, math.NaN()}}, {Strings: []*string{&text, nil}}}}, []byte("["), []byte("]"))
		require.Len(t, parts, 1)
		written := (&run{q: &queryParams{}}).appendChunk(nil, &parts[0])
		var read [][]any
		require.NoError(t, json.Unmarshal(written, &read), "%s", written)
		require.Equal(t, time.UnixMicro(us).UTC().Format(time.RFC3339Nano), read[0][0])
		require.Equal(t, math.Float64bits(number), math.Float64bits(read[0][1].(float64)))
		require.Equal(t, text, read[0][2])
		require.Nil(t, read[1][1])
		require.Nil(t, read[1][2])
		for epoch, divisor := range map[string]int64{"ms": 1000, "us": 1} {
			require.Equal(t, strconv.FormatInt(us/divisor, 10), string(new(value.Clock).AppendTimestamp(nil, us, epoch)))
		}
	})
}

func TestTheValuesOfAnswersAreBounded(t *testing.T) {
	a := &api{values: budget.New(maxValues)}
	all, err := a.reserve(maxValues)
	require.NoError(t, err)
	_, err = a.reserve(1)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	all.Release()
	one, err := a.reserve(1)
	require.NoError(t, err)
	one.Release()
	require.Zero(t, a.values.Used())
}
