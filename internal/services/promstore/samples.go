package promstore

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/livegraph/livegraph/internal/nativehistogram"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// sampleBytes is the memory of a sample that is no histogram. A histogram counts as several samples, as in Prometheus.
const sampleBytes = 16

// samples are the samples of a series. The slices have the same length, unless histograms is nil.
type samples struct {
	times      []int64 // in milliseconds, ascending, each once
	values     []float64
	histograms []string // texts of native histograms, empty for other samples; nil: there are none
}

// specialSamples returns the samples that are stored as texts of pointblock.KindSpecial, with times in microseconds.
func specialSamples(times []int64, texts []*string) samples {
	s := samples{times: times, values: make([]float64, len(texts))}
	for i, text := range texts {
		switch *text {
		case pointblock.SpecialStale:
			s.values[i] = math.Float64frombits(value.StaleNaN)
		case pointblock.SpecialInf:
			s.values[i] = math.Inf(1)
		case pointblock.SpecialMinusInf:
			s.values[i] = math.Inf(-1)
		default:
			s.values[i] = math.Float64frombits(value.NormalNaN)
			if nativehistogram.Is(*text) {
				s.setHistogram(i, *text)
			}
		}
	}
	return s
}

// memory returns the memory of the samples, in samples of sampleBytes.
func (s *samples) memory() int {
	n := len(s.times)
	for _, text := range s.histograms {
		n += len(text) / sampleBytes
	}
	return n
}

func (s *samples) setHistogram(i int, text string) {
	if s.histograms == nil {
		s.histograms = make([]string, len(s.values))
	}
	s.histograms[i] = text
}

// toMilliseconds converts ascending times from microseconds to milliseconds, in place. Of several times in
// one millisecond it keeps the last one.
func (s *samples) toMilliseconds() {
	kept := 0
	for i, us := range s.times {
		ms := us / 1000
		if kept > 0 && s.times[kept-1] == ms {
			kept--
		}
		s.times[kept], s.values[kept] = ms, s.values[i]
		if s.histograms != nil {
			s.histograms[kept] = s.histograms[i]
		}
		kept++
	}
	s.times, s.values = s.times[:kept], s.values[:kept]
	if s.histograms != nil {
		s.histograms = s.histograms[:kept]
	}
}

// merge adds the samples of another series, except those of times that s has.
func (s *samples) merge(other *samples) {
	size := len(s.times) + len(other.times)
	merged := samples{times: make([]int64, 0, size), values: make([]float64, 0, size)}
	if s.histograms != nil || other.histograms != nil {
		merged.histograms = make([]string, 0, size)
	}
	i, j := 0, 0
	for i < len(s.times) || j < len(other.times) {
		if j == len(other.times) || i < len(s.times) && s.times[i] <= other.times[j] {
			if j < len(other.times) && s.times[i] == other.times[j] {
				j++
			}
			merged.append(s, i)
			i++
			continue
		}
		merged.append(other, j)
		j++
	}
	*s = merged
}

// append appends a sample of another list. If s has histograms, the other list may have none.
func (s *samples) append(from *samples, i int) {
	s.times, s.values = append(s.times, from.times[i]), append(s.values, from.values[i])
	switch {
	case s.histograms == nil:
	case from.histograms == nil:
		s.histograms = append(s.histograms, "")
	default:
		s.histograms = append(s.histograms, from.histograms[i])
	}
}

// cursor is the list of the samples of a series, and the sample that was last read from it, so that
// iteration over numbers allocates nothing. It implements storage.Samples and chunks.Sample.
type cursor struct {
	*samples
	current int
}

// Len implements storage.Samples.
func (c *cursor) Len() int { return len(c.times) }

// Get implements storage.Samples. The sample is valid until the next call.
func (c *cursor) Get(i int) chunks.Sample {
	c.current = i
	return c
}

// T implements chunks.Sample.
func (c *cursor) T() int64 { return c.times[c.current] }

// ST implements chunks.Sample. Start times are not stored.
func (c *cursor) ST() int64 { return 0 }

// F implements chunks.Sample.
func (c *cursor) F() float64 { return c.values[c.current] }

// H implements chunks.Sample. The caller may change the histogram.
func (c *cursor) H() *histogram.Histogram { return c.decode().Int }

// FH implements chunks.Sample. The caller may change the histogram.
func (c *cursor) FH() *histogram.FloatHistogram {
	h := c.decode()
	if h.Int != nil {
		return h.Int.ToFloat(nil)
	}
	return h.Float
}

// decode decodes the current sample, which is a histogram. Texts that are none have no observations: other
// producers of the topic may have written them.
func (c *cursor) decode() nativehistogram.Histogram {
	text := c.histograms[c.current]
	h, err := nativehistogram.Decode(text)
	if err == nil {
		return h
	}
	if nativehistogram.IsFloat(text) {
		return nativehistogram.Histogram{Float: &histogram.FloatHistogram{}}
	}
	return nativehistogram.Histogram{Int: &histogram.Histogram{}}
}

// Type implements chunks.Sample.
func (c *cursor) Type() chunkenc.ValueType {
	switch {
	case c.histograms == nil || c.histograms[c.current] == "":
		return chunkenc.ValFloat
	case nativehistogram.IsFloat(c.histograms[c.current]):
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValHistogram
}

// Copy implements chunks.Sample.
func (c *cursor) Copy() chunks.Sample {
	copied := *c
	return &copied
}
