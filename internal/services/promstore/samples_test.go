package promstore

import (
	"encoding/base64"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/nativehistogram"
)

// textOf returns the text of a histogram.
func textOf(t *testing.T, h nativehistogram.Histogram) string {
	t.Helper()
	message := h.Message(0)
	raw, err := message.Marshal()
	require.NoError(t, err)
	text, _, err := nativehistogram.Append(nil, raw)
	require.NoError(t, err)
	return string(text)
}

// TestHistogramsAreMergedWithNumbers merges a series that was one of numbers and became one of histograms.
func TestHistogramsAreMergedWithNumbers(t *testing.T) {
	counts := &histogram.Histogram{
		Count: 3, Sum: 5, PositiveSpans: []histogram.Span{{Length: 2}}, PositiveBuckets: []int64{1, 1},
	}
	intText := textOf(t, nativehistogram.Histogram{Int: counts})
	floatText := textOf(t, nativehistogram.Histogram{Float: counts.ToFloat(nil)})
	invalid := nativehistogram.Prefix + base64.StdEncoding.EncodeToString([]byte{8, 3})
	stale := "stale"
	special := specialSamples([]int64{3, 4, 5, 6}, []*string{&intText, &floatText, &invalid, &stale})
	require.Equal(t, 4+(len(intText)/16+len(floatText)/16+len(invalid)/16), special.memory())
	for _, merged := range []samples{
		{times: []int64{1, 2, 4}, values: []float64{1, 2, 4}}, special,
	} {
		other := special
		if merged.histograms != nil {
			other = samples{times: []int64{1, 2}, values: []float64{1, 2}}
		}
		merged.merge(&other)
		s := series{samples: merged}
		var kinds []chunkenc.ValueType
		it := s.Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			kinds = append(kinds, kind)
			switch kind {
			case chunkenc.ValHistogram:
				_, h := it.AtHistogram(nil)
				ts, fh := it.AtFloatHistogram(nil)
				if ts == 3 {
					require.True(t, counts.Equals(h))
					require.True(t, counts.ToFloat(nil).Equals(fh))
					h.Count, fh.Count = 9, 9 // the caller may change them
					_, h = it.AtHistogram(nil)
					require.EqualValues(t, 3, h.Count)
				} else {
					require.Zero(t, h.Count, "the text is invalid")
				}
			case chunkenc.ValFloatHistogram:
				_, fh := it.AtFloatHistogram(nil)
				require.True(t, counts.ToFloat(nil).Equals(fh))
			default:
				ts, v := it.At()
				require.True(t, v != v || v == float64(ts))
			}
		}
		fourth := chunkenc.ValFloatHistogram
		if other.histograms != nil {
			fourth = chunkenc.ValFloat // the number of this time
		}
		require.Equal(t, []chunkenc.ValueType{
			chunkenc.ValFloat, chunkenc.ValFloat, chunkenc.ValHistogram, fourth, chunkenc.ValHistogram, chunkenc.ValFloat,
		}, kinds)
	}
}
