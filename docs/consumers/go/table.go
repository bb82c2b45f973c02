package main

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// A table has the current points: for each series and time the point with the highest
// version, unless it was deleted. Reading a record again does not change it. A real
// consumer would use a database with the same rules; see put and remove.
type table struct {
	series            map[uuid.UUID]map[uint64]*series // by source, then by series id
	tombstones        map[uuid.UUID][]tombstone        // by source
	deletedWorkspaces map[uuid.UUID]bool               // ids of deleted workspaces
}

// series has the points of a series by time, in microseconds since the Unix epoch.
type series struct {
	identity pointblock.Identity
	points   map[int64]point
}

type point struct {
	value   any // float64 or string
	version int64
}

// tombstone is a deletion. Points that it covers stay deleted when they are read again.
type tombstone struct {
	pointblock.Deletion
	version int64
}

func newTable() *table {
	return &table{
		series: map[uuid.UUID]map[uint64]*series{}, tombstones: map[uuid.UUID][]tombstone{},
		deletedWorkspaces: map[uuid.UUID]bool{},
	}
}

// put stores points of a series that were accepted with a version. It ignores points that a
// tombstone covers, and points with a lower version than the stored one.
func (t *table) put(id uint64, identity pointblock.Identity, ts []int64, value func(int) any, version int64) {
	if t.deletedWorkspaces[identity.Workspace] {
		return
	}
	ofSource := t.series[identity.Source]
	if ofSource == nil {
		ofSource = map[uint64]*series{}
		t.series[identity.Source] = ofSource
	}
	if ofSource[id] == nil {
		ofSource[id] = &series{identity: identity, points: map[int64]point{}}
	}
	for i, at := range ts {
		if stored, ok := ofSource[id].points[at]; ok && stored.version > version || t.isDeleted(&identity, at, version) {
			continue
		}
		ofSource[id].points[at] = point{value: value(i), version: version}
	}
}

func (t *table) isDeleted(identity *pointblock.Identity, at, version int64) bool {
	return slices.ContainsFunc(t.tombstones[identity.Source], func(d tombstone) bool {
		return d.covers(identity.Metric, at, version)
	})
}

// covers reports whether the deletion removes a point: a point that was accepted before it,
// or any point of a deleted source.
func (d *tombstone) covers(metric string, at, version int64) bool {
	switch {
	case d.WholeSource:
		return true
	case version > d.version, d.HasMetric && d.Metric != metric, d.HasFrom && at < d.FromUS, d.HasTo && at >= d.ToUS:
		return false
	}
	return true
}

// remove removes the points that a deletion covers, and stores the deletion as a tombstone.
func (t *table) remove(workspace uuid.UUID, d pointblock.Deletion, version int64) {
	if d.WholeWorkspace { // ids of workspaces and sources are never reused
		t.deletedWorkspaces[workspace] = true
		for _, ofSource := range t.series {
			maps.DeleteFunc(ofSource, func(_ uint64, s *series) bool { return s.identity.Workspace == workspace })
		}
		return
	}
	deleted := tombstone{Deletion: d, version: version}
	if !slices.Contains(t.tombstones[d.Source], deleted) {
		t.tombstones[d.Source] = append(t.tombstones[d.Source], deleted)
	}
	for _, s := range t.series[d.Source] {
		maps.DeleteFunc(s.points, func(at int64, p point) bool { return deleted.covers(s.identity.Metric, at, p.version) })
	}
}
