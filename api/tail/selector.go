package tail

import (
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// selector says of which series a stream gets the points. It means what the same
// filter means in a query; but it goes by the identity that the record carries, so
// that series count from their first point on.
type selector struct {
	registry.SeriesFilter
	sources, metrics map[string]struct{} // nil: all
}

func newSelector(filter registry.SeriesFilter) selector {
	s := selector{SeriesFilter: filter}
	if filter.Sources != nil {
		s.sources = map[string]struct{}{}
		for _, id := range filter.Sources {
			s.sources[string(id[:])] = struct{}{}
		}
	}
	if filter.Metrics != nil {
		s.metrics = map[string]struct{}{}
		for _, metric := range filter.Metrics {
			s.metrics[metric] = struct{}{}
		}
	}
	return s
}

// partitions are those that can have points of the series. A name or a node may get
// to be that of any source; a source has had one partition under each route, and late
// records come to an earlier one at any time.
func (s *selector) partitions(of layout) []int32 {
	var list []int32
	if s.Sources == nil || !of.known() {
		for p := range of.Partitions {
			list = append(list, p)
		}
		return list
	}
	for _, count := range of.counts {
		for _, id := range s.Sources {
			list = append(list, pointblock.Partition(id, count))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// source reports whether a source's id can be meant.
func (s *selector) source(id *uuid.UUID) bool {
	if s.sources == nil {
		return true
	}
	_, ok := s.sources[string(id[:])]
	return ok
}

// metric reports whether a metric is meant.
func (s *selector) metric(name []byte) bool {
	if s.metrics == nil {
		return true
	}
	_, ok := s.metrics[string(name)]
	return ok
}

// tags reports whether a series with these tags is meant: each that the filter names
// has one of the values.
func (s *selector) tags(tags []pointblock.Tag) bool {
	for key, values := range s.Tags {
		i := slices.IndexFunc(tags, func(t pointblock.Tag) bool { return t.Key == key })
		if i < 0 || !slices.Contains(values, tags[i].Value) {
			return false
		}
	}
	return true
}

// label reports whether a source of that name and at that node is meant.
func (s *selector) label(l *registry.SourceLabel) bool {
	if s.SourceName != nil && *s.SourceName != l.Name {
		return false
	}
	return s.NodeID == nil || l.NodeID != nil && *s.NodeID == *l.NodeID
}
