package nativehistogram_test

import (
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/nativehistogram"
)

func encode(message []byte) (text string, ms int64, err error) {
	raw, ms, err := nativehistogram.Append(nil, message)
	return string(raw), ms, err
}

func bytesOf(t testing.TB, m interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := m.Marshal()
	require.NoError(t, err)
	return raw
}

// testHistogram returns a histogram with buckets on both sides of zero.
func testHistogram(n int64) *histogram.Histogram {
	return &histogram.Histogram{
		Schema: 1, ZeroThreshold: 0.001, ZeroCount: uint64(n), Count: uint64(9*n + 10), Sum: 18.4 * float64(n+1),
		PositiveSpans:   []histogram.Span{{Offset: 0, Length: 2}, {Offset: 1, Length: 2}},
		PositiveBuckets: []int64{n + 1, 1, -1, 0},
		NegativeSpans:   []histogram.Span{{Offset: -3, Length: 4}}, NegativeBuckets: []int64{n + 1, 1, -1, 0},
	}
}

func customBuckets() *histogram.Histogram {
	return &histogram.Histogram{
		Schema: histogram.CustomBucketsSchema, Count: 5, Sum: 7, CustomValues: []float64{0.1, 1, 10},
		PositiveSpans: []histogram.Span{{Length: 4}}, PositiveBuckets: []int64{1, 0, 1, -1},
	}
}

// TestTextsAreDecodedToTheirHistograms encodes the messages of both versions of remote write.
func TestTextsAreDecodedToTheirHistograms(t *testing.T) {
	gauge := testHistogram(2)
	gauge.CounterResetHint = histogram.GaugeType
	stale := &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
	for name, h := range map[string]*histogram.Histogram{
		"exponential": testHistogram(7), "custom buckets": customBuckets(),
		"gauge": gauge, "empty": {}, "stale": stale,
	} {
		t.Run(name, func(t *testing.T) {
			one := prompb.FromIntHistogram(1234, h)
			text, ms, err := encode(bytesOf(t, &one))
			require.NoError(t, err)
			require.EqualValues(t, 1234, ms)
			require.True(t, nativehistogram.Is(text))
			two := writev2.FromIntHistogram(99, 1234, h)
			again, ms, err := encode(bytesOf(t, &two))
			require.NoError(t, err)
			require.EqualValues(t, 1234, ms)
			require.Equal(t, text, again)

			got, err := nativehistogram.Decode(text)
			require.NoError(t, err)
			require.Nil(t, got.Float)
			require.False(t, nativehistogram.IsFloat(text))
			require.True(t, h.Equals(got.Int), "%v %v", h, got.Int)
			require.Equal(t, value.IsStaleNaN(h.Sum), value.IsStaleNaN(got.Int.Sum))
			require.Equal(t, h.CounterResetHint, got.Int.CounterResetHint)

			float := prompb.FromFloatHistogram(5, h.ToFloat(nil))
			text, ms, err = encode(bytesOf(t, &float))
			require.NoError(t, err)
			require.EqualValues(t, 5, ms)
			got, err = nativehistogram.Decode(text)
			require.NoError(t, err)
			require.Nil(t, got.Int)
			require.True(t, nativehistogram.IsFloat(text))
			require.True(t, h.ToFloat(nil).Equals(got.Float))
		})
	}
}

// TestOnlyHintsAboutTheSampleItselfAreKept encodes histograms with hints about resets of the counter.
func TestOnlyHintsAboutTheSampleItselfAreKept(t *testing.T) {
	h := testHistogram(1)
	plain, _, err := encode(bytesOf(t, new(prompb.FromIntHistogram(0, h))))
	require.NoError(t, err)
	for hint, kept := range map[histogram.CounterResetHint]bool{
		histogram.CounterReset: true, histogram.NotCounterReset: false, histogram.GaugeType: true,
	} {
		h.CounterResetHint = hint
		text, _, err := encode(bytesOf(t, new(prompb.FromIntHistogram(0, h))))
		require.NoError(t, err)
		got, err := nativehistogram.Decode(text)
		require.NoError(t, err)
		if kept {
			require.Equal(t, hint, got.Int.CounterResetHint)
		} else {
			require.Equal(t, plain, text)
		}
	}
}

// TestSpansWithoutBucketsAreLeftOut encodes a histogram as Prometheus' receiver for OpenTelemetry writes it if its
// first buckets are empty. The engine would subtract the bucket at the offset of the empty span from another one.
func TestSpansWithoutBucketsAreLeftOut(t *testing.T) {
	odd := &histogram.Histogram{
		Count: 6, Sum: 1,
		PositiveSpans: []histogram.Span{
			{Offset: -5, Length: 0}, {Offset: 8, Length: 2}, {Offset: 2, Length: 0}, {Offset: 1, Length: 1},
			{Offset: 4, Length: 0},
		},
		PositiveBuckets: []int64{1, 0, 0},
		NegativeSpans:   []histogram.Span{{Offset: 2, Length: 0}, {Offset: 0, Length: 0}, {Offset: 3, Length: 1}},
		NegativeBuckets: []int64{3},
	}
	even := odd.Copy()
	even.PositiveSpans = []histogram.Span{{Offset: 3, Length: 2}, {Offset: 3, Length: 1}}
	even.NegativeSpans = []histogram.Span{{Offset: 5, Length: 1}}
	for name, message := range map[string]prompb.Histogram{
		"integers": prompb.FromIntHistogram(1, odd), "floats": prompb.FromFloatHistogram(1, odd.ToFloat(nil)),
	} {
		text, _, err := encode(bytesOf(t, &message))
		require.NoError(t, err)
		got, err := nativehistogram.Decode(text)
		require.NoError(t, err)
		if got.Float == nil {
			require.Equal(t, even.PositiveSpans, got.Int.PositiveSpans)
			got.Float = got.Int.ToFloat(nil)
		}
		require.Equal(t, even.PositiveSpans, got.Float.PositiveSpans, name)
		require.Equal(t, even.NegativeSpans, got.Float.NegativeSpans, name)

		first := &histogram.FloatHistogram{
			Count: 1, PositiveSpans: []histogram.Span{{Offset: -5, Length: 1}}, PositiveBuckets: []float64{1},
		}
		difference, _, _, err := got.Float.Sub(first)
		require.NoError(t, err)
		require.Equal(t, -1.0, difference.PositiveBuckets[0], "of the bucket that only the other has")
		require.Equal(t, []float64{1, 1, 1}, difference.PositiveBuckets[1:])
	}
	odd.PositiveSpans[2].Offset, odd.PositiveSpans[3].Offset = -1, 4
	message := prompb.FromIntHistogram(1, odd)
	_, _, err := encode(bytesOf(t, &message))
	require.ErrorIs(t, err, nativehistogram.ErrInvalid, "the offset of a span that is left out")

	odd.PositiveSpans = []histogram.Span{{Offset: math.MaxInt32}, {Offset: 1, Length: 3}}
	message = prompb.FromIntHistogram(1, odd)
	_, _, err = encode(bytesOf(t, &message))
	require.ErrorIs(t, err, nativehistogram.ErrInvalid, "the sum of offsets")
}

func TestInvalidHistogramsAreRefused(t *testing.T) {
	valid := testHistogram(1)
	for name, change := range map[string]func(h *histogram.Histogram){
		"schema":            func(h *histogram.Histogram) { h.Schema = 20 },
		"buckets":           func(h *histogram.Histogram) { h.PositiveBuckets = h.PositiveBuckets[1:] },
		"negative count":    func(h *histogram.Histogram) { h.PositiveBuckets[0] = -5 },
		"count":             func(h *histogram.Histogram) { h.Count = 1 },
		"spans that repeat": func(h *histogram.Histogram) { h.PositiveSpans[1].Offset = -4 },
		"size": func(h *histogram.Histogram) {
			h.PositiveSpans = []histogram.Span{{Length: nativehistogram.MaxBytes}}
			h.PositiveBuckets = make([]int64, nativehistogram.MaxBytes)
		},
	} {
		h := valid.Copy()
		change(h)
		m := prompb.FromIntHistogram(77, h)
		_, ms, err := encode(bytesOf(t, &m))
		require.ErrorIs(t, err, nativehistogram.ErrInvalid, name)
		require.EqualValues(t, 77, ms, name)
	}
	_, _, err := encode([]byte{0xff})
	require.ErrorIs(t, err, nativehistogram.ErrMalformed)
	for text, want := range map[string]error{
		"stale": nativehistogram.ErrMalformed, nativehistogram.Prefix + "?": nativehistogram.ErrMalformed,
		nativehistogram.Prefix + "/w==": nativehistogram.ErrMalformed, nativehistogram.Prefix + "CAAgCg==": nil,
		nativehistogram.Prefix + "CAAgKA==": nativehistogram.ErrInvalid, // schema 20
		nativehistogram.Prefix:              nativehistogram.ErrInvalid, // without a count
	} {
		_, err := nativehistogram.Decode(text)
		require.ErrorIs(t, err, want, text)
	}
}

// Histograms of integers have the same text and rules as their messages.
func TestIntegerHistogramsAreEncodedAsTheirMessages(t *testing.T) {
	for _, h := range []*histogram.Histogram{testHistogram(3), customBuckets(), {}} {
		h.CounterResetHint = histogram.NotCounterReset
		want, _, err := encode(bytesOf(t, new(prompb.FromIntHistogram(0, h))))
		require.NoError(t, err)
		got, err := nativehistogram.AppendInt([]byte("before "), h)
		require.NoError(t, err)
		require.Equal(t, "before "+want, string(got))
	}
	wrong := testHistogram(1)
	wrong.Count++
	large := &histogram.Histogram{
		PositiveSpans:   []histogram.Span{{Length: nativehistogram.MaxBytes}},
		PositiveBuckets: make([]int64, nativehistogram.MaxBytes),
	}
	for _, h := range []*histogram.Histogram{wrong, large} {
		got, err := nativehistogram.AppendInt([]byte("before"), h)
		require.ErrorIs(t, err, nativehistogram.ErrInvalid)
		require.Equal(t, "before", string(got))
	}
}

// FuzzHistograms requires that a text is decoded to the histogram that it was made of, and encoded to the same text.
func FuzzHistograms(f *testing.F) {
	for i := range int64(3) {
		h := testHistogram(i)
		m := prompb.FromIntHistogram(i, h)
		f.Add(bytesOf(f, &m))
		m = prompb.FromFloatHistogram(i, h.ToFloat(nil))
		f.Add(bytesOf(f, &m))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		text, _, err := encode(message)
		if err != nil {
			require.Empty(t, text)
			return
		}
		require.Less(t, len(text), 3*nativehistogram.MaxBytes)
		require.False(t, strings.ContainsRune(text, 0))
		h, err := nativehistogram.Decode(text)
		require.NoError(t, err)
		m := h.Message(0)
		again, _, err := encode(bytesOf(t, &m))
		require.NoError(t, err)
		require.Equal(t, text, again)
	})
}
