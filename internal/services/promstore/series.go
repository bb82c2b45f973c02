package promstore

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// series is a selected series. It implements storage.Series.
type series struct {
	labels     labels.Labels
	registered registry.Series
	samples
}

// Labels implements storage.Series.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator implements storage.Series.
func (s *series) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return storage.NewListSeriesIterator(&cursor{samples: &s.samples})
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
			merged[n-1].merge(&s.samples)
			continue
		}
		merged = append(merged, s)
	}
	return merged
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
