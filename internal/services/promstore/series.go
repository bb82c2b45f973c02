package promstore

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// series is a selected series. It implements storage.Series.
type series struct {
	labels     labels.Labels
	registered registry.Series
	times      []int64 // in milliseconds, ascending, each once
	values     []float64
}

// Labels implements storage.Series.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s *series) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return storage.NewListSeriesIterator(&cursor{times: s.times, values: s.values})
}

// cursor is the list of the samples of a series, and the sample that was last read from it, so that
// iteration allocates nothing. It implements storage.Samples and chunks.Sample.
type cursor struct {
	times   []int64
	values  []float64
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

// H implements chunks.Sample. There are no native histograms.
func (c *cursor) H() *histogram.Histogram { return nil }

// FH implements chunks.Sample.
func (c *cursor) FH() *histogram.FloatHistogram { return nil }

// Type implements chunks.Sample.
func (c *cursor) Type() chunkenc.ValueType { return chunkenc.ValFloat }

// Copy implements chunks.Sample.
func (c *cursor) Copy() chunks.Sample {
	copied := *c
	return &copied
}

// seriesSet is a list of series. It implements storage.SeriesSet.
type seriesSet struct {
	list []*series
	next int
}

// sortSeries sorts series by labels, as the database of Prometheus does, because the order decides which of
// equal values topk selects.
func sortSeries(list []*series) {
	slices.SortFunc(list, func(a, b *series) int {
		return cmp.Or(labels.Compare(a.labels, b.labels), cmp.Compare(a.registered.ID, b.registered.ID))
	})
}

// newSeriesSet returns the set of series, sorted, in which series with the same labels are merged.
func newSeriesSet(list []*series) *seriesSet {
	sortSeries(list)
	return &seriesSet{list: mergeRepeated(list), next: -1}
}

// mergeRepeated merges adjacent series with the same labels.
func mergeRepeated(list []*series) []*series {
	merged := list[:0]
	for _, s := range list {
		if n := len(merged); n > 0 && labels.Equal(merged[n-1].labels, s.labels) {
			merged[n-1].merge(s)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// merge adds the samples of another series, except those of times that s has.
func (s *series) merge(other *series) {
	times := make([]int64, 0, len(s.times)+len(other.times))
	values := make([]float64, 0, cap(times))
	i, j := 0, 0
	for i < len(s.times) || j < len(other.times) {
		if j == len(other.times) || i < len(s.times) && s.times[i] <= other.times[j] {
			if j < len(other.times) && s.times[i] == other.times[j] {
				j++
			}
			times, values = append(times, s.times[i]), append(values, s.values[i])
			i++
			continue
		}
		times, values = append(times, other.times[j]), append(values, other.values[j])
		j++
	}
	s.times, s.values = times, values
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	s.next++
	return s.next < len(s.list)
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.list[s.next] }

// Err implements storage.SeriesSet.
func (s *seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
