package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// grouping defines by which fields series are grouped. An empty grouping puts all series into
// one group. nil: each series is a group.
type grouping struct {
	source, metric bool
	tags           []string
}

func parseGrouping(p *request.Params) *grouping {
	fields := p.List("groupBy")
	if len(fields) == 0 {
		return nil
	}
	g := &grouping{}
	seen := map[string]bool{}
	for _, field := range fields {
		tag, isTag := strings.CutPrefix(field, "tag.")
		switch {
		case seen[field]:
			p.Fail("groupBy", "has "+field+" twice")
		case field == "sourceId":
			g.source = true
		case field == "metric":
			g.metric = true
		case isTag && tag != "":
			g.tags = append(g.tags, tag)
		case field != "none":
			p.Fail("groupBy", "is not one of the allowed fields", "sourceId", "metric", "tag.<key>", "none")
		case len(fields) > 1:
			p.Fail("groupBy", "none cannot be combined with other fields")
		}
		seen[field] = true
	}
	return g
}

// group is one entry of an answer: a series, or several that are aggregated. Fields in which
// its series differ are absent.
type group struct {
	source     *uuid.UUID
	sourceName *string
	metric     *string
	unit       *string
	tags       map[string]string
	kind       pointblock.Kind
	series     []uint64
}

// groupEach returns a group for each series.
func groupEach(list []registry.Series) []*group {
	groups, ids := make([]*group, len(list)), make([]uint64, len(list))
	backing := make([]group, len(list))
	for i := range list {
		s := &list[i]
		ids[i] = s.ID
		backing[i] = group{
			source: &s.SourceID, sourceName: &s.SourceName, metric: &s.Metric, unit: s.Unit,
			tags: s.Tags, kind: s.Kind, series: ids[i : i+1 : i+1],
		}
		groups[i] = &backing[i]
	}
	return groups
}

// groups groups series, sorted by the fields of the grouping. Numbers and strings are never in
// the same group, nor are series with and without a tag.
func (g *grouping) groups(list []registry.Series) []*group {
	byKey := map[string]*group{}
	for i := range list {
		s := &list[i]
		key, tags := g.key(s)
		found := byKey[key]
		if found == nil {
			found = &group{tags: tags, kind: s.Kind, unit: s.Unit}
			if g.source {
				found.source, found.sourceName = &s.SourceID, &s.SourceName
			}
			if g.metric {
				found.metric = &s.Metric
			}
			byKey[key] = found
		}
		if found.unit != nil && (s.Unit == nil || *s.Unit != *found.unit) {
			found.unit = nil
		}
		found.series = append(found.series, s.ID)
	}
	keys := slices.Sorted(maps.Keys(byKey))
	sorted := make([]*group, len(keys))
	for i, key := range keys {
		sorted[i] = byKey[key]
	}
	return sorted
}

// key returns the key of the group of a series, which also defines the order of groups, and
// the tags of the group.
func (g *grouping) key(s *registry.Series) (string, map[string]string) {
	var key strings.Builder
	if g.source {
		key.WriteString(s.SourceID.String())
	}
	if g.metric {
		fmt.Fprintf(&key, "%s\x00", s.Metric) // metrics have no U+0000
	}
	tags := map[string]string{}
	for _, name := range g.tags {
		if value, ok := s.Tags[name]; ok {
			tags[name] = value
			fmt.Fprintf(&key, "=%s", value)
		}
		key.WriteByte(0)
	}
	key.WriteByte(byte(s.Kind))
	return key.String(), tags
}

// byKind returns the series of the groups of a kind, each with the index of its group.
func byKind(groups []*group, kind pointblock.Kind) (series []uint64, indexes []int) {
	for i, g := range groups {
		if g.kind == kind {
			for _, id := range g.series {
				series, indexes = append(series, id), append(indexes, i)
			}
		}
	}
	return series, indexes
}
