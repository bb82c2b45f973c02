package pointblock_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

var (
	workspaceA = uuid.MustParse("0198a1b2-0000-7000-8000-000000000001")
	sourceA    = uuid.MustParse("0198a1b2-0000-7000-8000-00000000000a")
	sourceB    = uuid.MustParse("0198a1b2-0000-7000-8000-00000000000b")
)

func numberSeries(source uuid.UUID, metric string) (pointblock.SeriesRef, *pointblock.Identity) {
	id := &pointblock.Identity{Workspace: workspaceA, Source: source, Metric: metric, Kind: pointblock.KindNumber}
	f := id.Fingerprint(&[16]byte{7})
	return pointblock.SeriesRef{ID: f.SeriesID(), Fingerprint: f}, id
}

func stringSeries(source uuid.UUID, metric string) (pointblock.SeriesRef, *pointblock.Identity) {
	id := &pointblock.Identity{Workspace: workspaceA, Source: source, Metric: metric, Kind: pointblock.KindString}
	f := id.Fingerprint(&[16]byte{7})
	return pointblock.SeriesRef{ID: f.SeriesID(), Fingerprint: f}, id
}

func decode(t require.TestingT, value []byte) *pointblock.Record {
	var r pointblock.Record
	require.NoError(t, pointblock.Decode(value, &r))
	return &r
}

func TestPointsAreSortedAndTheLastOfOneTimeIsKept(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	ref, id := numberSeries(sourceA, "m")
	require.NoError(t, e.AppendNumbers(ref, id, []int64{30, 10, 30, 20, 10}, []float64{1, 2, 3, 4, 5}))
	ref, id = stringSeries(sourceA, "m")
	require.NoError(t, e.AppendStrings(ref, id, []int64{2, 2, 1}, []string{"a", "b", "c"}))
	r := decode(t, e.Bytes())
	require.Equal(t, []int64{10, 20, 30}, r.Spans[0].AppendTimestamps(nil))
	require.Equal(t, []float64{5, 4, 3}, r.Spans[0].AppendValues(nil))
	require.Equal(t, []int64{1, 2}, r.Spans[1].AppendTimestamps(nil))
	require.Equal(t, []string{"c", "b"}, r.Spans[1].AppendStrings(nil))
}

func TestSortingAgreesWithAMapOfLastValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ts, values, last := make([]int64, 20_000), make([]float64, 20_000), map[int64]float64{}
	for i := range ts {
		ts[i], values[i] = rng.Int64N(10_000), float64(i)
		last[ts[i]] = values[i]
	}
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	ref, id := numberSeries(sourceA, "m")
	require.NoError(t, e.AppendNumbers(ref, id, ts, values))
	r := decode(t, e.Bytes())
	gotTS, gotValues := r.Spans[0].AppendTimestamps(nil), r.Spans[0].AppendValues(nil)
	require.Len(t, gotTS, len(last))
	require.True(t, slices.IsSorted(gotTS))
	for i, at := range gotTS {
		require.Equal(t, last[at], gotValues[i])
	}
}

func TestASeriesLargerThanARecordIsSpreadOverSeveral(t *testing.T) {
	integers, irrational := func(i int) float64 { return float64(i) }, func(i int) float64 { return math.Sqrt(float64(i)) }
	for name, c := range map[string]struct {
		n     int
		value func(i int) float64
	}{
		"a little": {120_000, irrational}, "a lot": {1_000_000, irrational}, "too many points": {200_000, integers},
		"far too many": {1_000_000, integers},
	} {
		t.Run(name, func(t *testing.T) {
			n := c.n
			ts, values := make([]int64, n), make([]float64, n)
			for i := range ts {
				ts[i], values[i] = int64(i)*1_000_000, c.value(i)
			}
			var e pointblock.Encoder
			e.Reset(workspaceA, 1)
			small, smallID := numberSeries(sourceA, "small")
			require.NoError(t, e.AppendNumbers(small, smallID, []int64{1}, []float64{1}))
			ref, id := numberSeries(sourceA, "large")
			require.NoError(t, e.AppendNumbers(ref, id, ts, values))
			require.NoError(t, e.AppendNumbers(small, smallID, []int64{2}, []float64{2}))

			var gotTS []int64
			var gotValues []float64
			messages := e.AppendMessages(nil, 3)
			require.Greater(t, len(messages), 1)
			for _, m := range messages {
				require.LessOrEqual(t, len(m.Value), pointblock.MaxRecordBytes)
				require.Equal(t, sourceA[:], m.Key)
				require.EqualValues(t, 3, m.Partition)
				for _, span := range decode(t, m.Value).Spans {
					if string(span.Metric()) == "large" {
						gotTS, gotValues = span.AppendTimestamps(gotTS), span.AppendValues(gotValues)
					}
				}
			}
			require.Equal(t, ts, gotTS)
			require.Equal(t, values, gotValues)
		})
	}
}

// The memory that a reader of a record allocates is limited, even if the points are small.
func TestARecordHasNoMorePointsThanOnesOfFullSize(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	ts, values := make([]int64, 10_000), make([]float64, 10_000)
	for i := range ts {
		ts[i] = int64(i) * 1_000_000
	}
	for i := range uint64(50) {
		ref, id := numberSeries(sourceA, "m")
		ref.ID = i
		require.NoError(t, e.AppendNumbers(ref, id, ts, values))
	}
	maxPoints, total := 0, 0
	for _, m := range e.AppendMessages(nil, 0) {
		points := 0
		for _, span := range decode(t, m.Value).Spans {
			points += span.Count
		}
		maxPoints, total = max(maxPoints, points), total+points
	}
	require.Equal(t, 500_000, total)
	require.LessOrEqual(t, maxPoints, pointblock.MaxRecordBytes/9)
}

func TestNumbersWithFewDecimalsAreSmallAndDecodedExactly(t *testing.T) {
	negative := math.Copysign(0, -1)
	for name, c := range map[string]struct {
		value func(i int) float64
		bytes int // per point, including its time
	}{
		"the same again":       {func(int) float64 { return 21.5 }, 2},
		"a tenth more or so":   {func(i int) float64 { return (200 + float64(i%7)) / 10 }, 2},
		"whole and large":      {func(i int) float64 { return 1e12 + float64(i) }, 2},
		"seven decimals":       {func(i int) float64 { return float64(525200066+i*50) / 1e7 }, 2},
		"negative":             {func(i int) float64 { return -float64(i+1) / 100 }, 2},
		"a negative zero":      {func(i int) float64 { return []float64{negative, 1}[i%2] }, 9},
		"no decimal number":    {func(i int) float64 { return math.Sqrt(float64(i)) }, 9},
		"of far apart sizes":   {func(i int) float64 { return []float64{1e300, 0.1}[i%2] }, 9},
		"beyond exact doubles": {func(i int) float64 { return float64(1<<53) + 2*float64(i) }, 9},
	} {
		t.Run(name, func(t *testing.T) {
			ts, values := make([]int64, 1000), make([]float64, 1000)
			for i := range ts {
				ts[i], values[i] = 1_700_000_000_000_000+int64(i)*1_000_000, c.value(i)
			}
			var e pointblock.Encoder
			e.Reset(workspaceA, 1)
			ref, id := numberSeries(sourceA, "m")
			require.NoError(t, e.AppendNumbers(ref, id, ts, values))
			span := &decode(t, e.Bytes()).Spans[0]
			require.Equal(t, ts, span.AppendTimestamps(nil))
			require.Equal(t, bitsOf(values), bitsOf(span.AppendValues(nil)))
			require.InDelta(t, c.bytes, float64(len(e.Bytes()))/1000, 0.3)
		})
	}
}

func TestLongTextsAreSpreadOverRecords(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	ref, id := stringSeries(sourceA, "log")
	var want []string
	var ts []int64
	for i := range 3000 {
		ts, want = append(ts, int64(i)), append(want, strings.Repeat(string(rune('a'+i%26)), 1024))
	}
	require.NoError(t, e.AppendStrings(ref, id, ts, slices.Clone(want)))
	var got []string
	for _, m := range e.AppendMessages(nil, 0) {
		require.LessOrEqual(t, len(m.Value), pointblock.MaxRecordBytes)
		got = decode(t, m.Value).Spans[0].AppendStrings(got)
	}
	require.Equal(t, want, got)
}

func TestManySeriesFillRecordsInOrder(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	for i := range 20_000 {
		ref, id := numberSeries(sourceA, strings.Repeat("m", 1+i%200)+string(rune('a'+i/200)))
		ref.ID = uint64(i)
		require.NoError(t, e.AppendNumbers(ref, id, []int64{int64(i)}, []float64{1}))
	}
	next := 0
	messages := e.AppendMessages(nil, 0)
	require.Greater(t, len(messages), 2)
	for i, m := range messages {
		if i+1 < len(messages) {
			require.Greater(t, len(m.Value), pointblock.MaxRecordBytes-1024, "records are filled before the next begins")
		}
		for _, span := range decode(t, m.Value).Spans {
			require.EqualValues(t, next, span.SeriesID)
			next++
		}
	}
	require.Equal(t, 20_000, next)
}

func TestARecordOfSeveralSourcesHasNoKey(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	require.True(t, e.Empty())
	require.Empty(t, e.AppendMessages(nil, 0))
	ref, id := numberSeries(sourceA, "m")
	require.NoError(t, e.AppendNumbers(ref, id, []int64{1}, []float64{1}))
	require.False(t, e.Empty())
	require.Equal(t, sourceA[:], e.AppendMessages(nil, 0)[0].Key)
	ref, id = numberSeries(sourceB, "m")
	require.NoError(t, e.AppendNumbers(ref, id, []int64{1}, []float64{1}))
	ref, id = numberSeries(sourceA, "n")
	require.NoError(t, e.AppendNumbers(ref, id, []int64{1}, []float64{1}))
	require.Nil(t, e.AppendMessages(nil, 0)[0].Key)
}

func TestTheEncoderRefusesInvalidSeries(t *testing.T) {
	var e pointblock.Encoder
	e.Reset(workspaceA, 1)
	ref, id := numberSeries(sourceA, strings.Repeat("m", pointblock.MaxRecordBytes))
	require.ErrorIs(t, e.AppendNumbers(ref, id, []int64{1, 2}, []float64{1, 2}), pointblock.ErrIdentityTooLarge)
	ref, id = numberSeries(sourceA, "m")
	require.ErrorIs(t, e.AppendNumbers(ref, id, []int64{5, -1}, []float64{1, 2}), pointblock.ErrTimestamp)
	require.NoError(t, e.AppendNumbers(ref, id, nil, nil))
	require.Empty(t, e.AppendMessages(nil, 0))
}

func TestAReusedEncoderAndRecordAllocateNothing(t *testing.T) {
	ref, id := numberSeries(sourceA, "temperature")
	id.Tags = []pointblock.Tag{{Key: "host", Value: "a"}, {Key: "rack", Value: "7"}}
	ts, values := make([]int64, 100), make([]float64, 100)
	for i := range ts {
		ts[i] = int64(i+1) * 1_000_000
	}
	var e pointblock.Encoder
	var r pointblock.Record
	var messages []pointblock.Message
	run := func() {
		e.Reset(workspaceA, 1)
		for i := range uint64(50) {
			ref.ID = i
			if e.AppendNumbers(ref, id, ts, values) != nil {
				panic("append")
			}
		}
		messages = e.AppendMessages(messages[:0], 0)
		if pointblock.Decode(messages[0].Value, &r) != nil {
			panic("decode")
		}
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
}
