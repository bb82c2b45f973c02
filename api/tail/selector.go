package tail

import (
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// selector selects the series of a stream. It matches like the same filter in a query, but
// it uses the identity in the record, so that a new series matches from its first point on.
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

// partitions returns the partitions that can contain points of the series. If the filter
// has no source ids, these are all partitions, because any source can get a given name or
// node. A source has one partition under each route, and late records can arrive in the
// partition of an earlier route at any time.
func (s *selector) partitions(topic layout) []int32 {
	var list []int32
	if s.Sources == nil || !topic.complete() {
		for p := range topic.Partitions {
			list = append(list, p)
		}
		return list
	}
	for _, count := range topic.counts {
		for _, id := range s.Sources {
			list = append(list, pointblock.Partition(id, count))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// source reports whether the filter can match a source with this id.
func (s *selector) source(id *uuid.UUID) bool {
	if s.sources == nil {
		return true
	}
	_, ok := s.sources[string(id[:])]
	return ok
}

// metric reports whether the filter matches a metric.
func (s *selector) metric(name []byte) bool {
	if s.metrics == nil {
		return true
	}
	_, ok := s.metrics[string(name)]
	return ok
}

// tags reports whether the filter matches a series with these tags: each tag of the filter
// must have one of its values.
func (s *selector) tags(tags []pointblock.Tag) bool {
	for key, values := range s.Tags {
		i := slices.IndexFunc(tags, func(t pointblock.Tag) bool { return t.Key == key })
		if i < 0 || !slices.Contains(values, tags[i].Value) {
			return false
		}
	}
	return true
}

// label reports whether the filter matches the name and the node of a source.
func (s *selector) label(l *registry.SourceLabel) bool {
	if s.SourceName != nil && *s.SourceName != l.Name {
		return false
	}
	return s.NodeID == nil || l.NodeID != nil && *s.NodeID == *l.NodeID
}
