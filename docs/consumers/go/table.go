package main

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// A table holds what stands: of each series and time the point with the highest
// version, unless it was deleted. Whatever is read again changes nothing in it. In
// earnest it would be a database; what is stored there follows the same three rules,
// see put and remove.
type table struct {
	series map[uuid.UUID]map[uint64]*series // by source, then by the series' id
	graves map[uuid.UUID][]grave
	gone   map[uuid.UUID]bool // workspaces that were deleted
}

// series is one with its points, by time in microseconds since the Unix epoch.
type series struct {
	identity pointblock.Identity
	points   map[int64]point
}

type point struct {
	value   any // float64 or string
	version int64
}

// grave is a deletion: what it covers stays deleted when it is read again.
type grave struct {
	pointblock.Deletion
	version int64
}

func newTable() *table {
	return &table{series: map[uuid.UUID]map[uint64]*series{}, graves: map[uuid.UUID][]grave{}, gone: map[uuid.UUID]bool{}}
}

// put stores points of a series that were accepted at a version: those that no
// deletion covers, and that are not older than what is there.
func (t *table) put(id uint64, identity pointblock.Identity, ts []int64, value func(int) any, version int64) {
	if t.gone[identity.Workspace] {
		return
	}
	of := t.series[identity.Source]
	if of == nil {
		of = map[uint64]*series{}
		t.series[identity.Source] = of
	}
	if of[id] == nil {
		of[id] = &series{identity: identity, points: map[int64]point{}}
	}
	for i, at := range ts {
		if have, ok := of[id].points[at]; ok && have.version > version || t.buried(&identity, at, version) {
			continue
		}
		of[id].points[at] = point{value: value(i), version: version}
	}
}

func (t *table) buried(identity *pointblock.Identity, at, version int64) bool {
	return slices.ContainsFunc(t.graves[identity.Source], func(g grave) bool {
		return g.covers(identity.Metric, at, version)
	})
}

// covers reports whether the deletion removes a point: one that was accepted before it,
// or any of a source that is gone.
func (g *grave) covers(metric string, at, version int64) bool {
	switch {
	case g.WholeSource:
		return true
	case version > g.version, g.HasMetric && g.Metric != metric, g.HasFrom && at < g.FromUS, g.HasTo && at >= g.ToUS:
		return false
	}
	return true
}

// remove takes away what a deletion covers, and keeps the deletion.
func (t *table) remove(workspace uuid.UUID, d pointblock.Deletion, version int64) {
	if d.WholeWorkspace { // its id is never used again, like that of a source
		t.gone[workspace] = true
		for _, of := range t.series {
			maps.DeleteFunc(of, func(_ uint64, s *series) bool { return s.identity.Workspace == workspace })
		}
		return
	}
	g := grave{Deletion: d, version: version}
	if !slices.Contains(t.graves[d.Source], g) {
		t.graves[d.Source] = append(t.graves[d.Source], g)
	}
	for _, s := range t.series[d.Source] {
		maps.DeleteFunc(s.points, func(at int64, p point) bool { return g.covers(s.identity.Metric, at, p.version) })
	}
}
