package points

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/livegraph/livegraph/internal/ceiling"
	pgregistry "github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	// maxCachedTombstones bounds the index. A source counts as one, plus one for each
	// step of its tombstones.
	maxCachedTombstones = 250_000
	// sourcesPerQuery is the maximum number of sources in one statement.
	sourcesPerQuery = 10_000
)

// sourceID identifies a source of a workspace.
type sourceID = pgregistry.SourceID

// tombstones caches the tombstones of the sources that were stored last. Tombstones of
// other sources are read from the registry when points of them are stored: only those that
// can cover these points, which are few, because consumed records are newer than nearly all
// tombstones.
type tombstones struct {
	sources *otter.Cache[sourceID, cachedTombstones]

	mu            sync.Mutex
	epoch         uint64 // entries of an earlier epoch are invalid
	invalidations uint64 // number of calls that invalidated something
}

// cachedTombstones is the tombstones of a source that can cover points of version floor
// or higher.
type cachedTombstones struct {
	*sourceTombstones        // nil: none
	floor             uint64 // tombstones with a lower ceiling were not read
	epoch             uint64
}

func newTombstones() *tombstones {
	return &tombstones{epoch: 1, sources: otter.Must(&otter.Options[sourceID, cachedTombstones]{
		MaximumWeight: maxCachedTombstones,
		Weigher:       func(_ sourceID, r cachedTombstones) uint32 { return uint32(1 + r.size()) },
	})}
}

// invalidate drops sources that have new tombstones, so that they are read again. If all
// is true, it drops every source.
func (t *tombstones) invalidate(sources []sourceID, all bool) {
	if len(sources) == 0 && !all {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.invalidations++
	if all {
		t.epoch++
		return
	}
	for _, source := range sources {
		t.sources.Invalidate(source)
	}
}

// find adds to found the tombstones of sources. Those with a ceiling below the floor of
// the source may be missing. Sources without tombstones are left out.
func (t *tombstones) find(
	ctx context.Context, registry *stores.DB, floors map[sourceID]uint64, found map[sourceID]*sourceTombstones,
) error {
	t.mu.Lock()
	epoch, invalidations := t.epoch, t.invalidations
	t.mu.Unlock()
	var missing []pgregistry.SourceMinVersion
	for source, floor := range floors {
		cached, _ := t.sources.GetIfPresent(source)
		switch {
		case cached.epoch != epoch || cached.floor > floor:
			missing = append(missing, pgregistry.SourceMinVersion{SourceID: source, MinVersion: floor})
		case cached.sourceTombstones != nil:
			found[source] = cached.sourceTombstones
		}
	}
	for chunk := range slices.Chunk(missing, sourcesPerQuery) {
		list, deletedWorkspaces, err := registry.SourceTombstones(ctx, chunk)
		if err != nil {
			return err
		}
		read := tombstonesBySource(chunk, list, deletedWorkspaces)
		for source, tombstones := range read {
			found[source] = tombstones
		}
		t.put(chunk, read, epoch, invalidations)
	}
	return nil
}

// put stores what was read in the cache, unless a source was invalidated since, because
// the read may be older than that change.
func (t *tombstones) put(
	sources []pgregistry.SourceMinVersion, read map[sourceID]*sourceTombstones, epoch, invalidations uint64,
) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.epoch != epoch || t.invalidations != invalidations {
		return
	}
	for _, s := range sources {
		t.sources.Set(s.SourceID, cachedTombstones{read[s.SourceID], s.MinVersion, epoch})
	}
}

// sourceTombstones is the tombstones of a source.
type sourceTombstones struct {
	sourceDeleted bool                     // the source itself is deleted
	allMetrics    ceiling.Steps            // for metrics that are not in byMetric
	byMetric      map[string]ceiling.Steps // including allMetrics
}

// forMetric returns the tombstones of a metric.
func (c *sourceTombstones) forMetric(metric []byte) ceiling.Steps {
	if c == nil {
		return nil
	}
	if steps, ok := c.byMetric[string(metric)]; ok {
		return steps
	}
	return c.allMetrics
}

func (c *sourceTombstones) size() int {
	if c == nil {
		return 0
	}
	n := len(c.allMetrics)
	for _, steps := range c.byMetric {
		n += len(steps)
	}
	return n
}

// tombstonesBySource groups tombstones by source. A requested source of a deleted
// workspace counts as deleted.
func tombstonesBySource(
	requested []pgregistry.SourceMinVersion, list []pgregistry.Tombstone, deletedWorkspaces []uuid.UUID,
) map[sourceID]*sourceTombstones {
	bySource := map[sourceID][]pgregistry.Tombstone{}
	for _, t := range list {
		key := sourceID{Workspace: t.Workspace, Source: t.Source}
		bySource[key] = append(bySource[key], t)
	}
	for _, s := range requested {
		if len(deletedWorkspaces) > 0 && slices.Contains(deletedWorkspaces, s.Workspace) {
			bySource[s.SourceID] = []pgregistry.Tombstone{{Ceiling: pgregistry.CeilingUnlimited}}
		}
	}
	found := make(map[sourceID]*sourceTombstones, len(bySource))
	for source, tombstones := range bySource {
		found[source] = newSourceTombstones(tombstones)
	}
	return found
}

func newSourceTombstones(list []pgregistry.Tombstone) *sourceTombstones {
	c := &sourceTombstones{byMetric: map[string]ceiling.Steps{}}
	var all []ceiling.Interval
	metrics := map[string][]ceiling.Interval{}
	for _, t := range list {
		c.sourceDeleted = c.sourceDeleted || t.Ceiling == pgregistry.CeilingUnlimited
		if t.Metric == nil {
			all = append(all, intervalOf(t))
		} else {
			metrics[*t.Metric] = append(metrics[*t.Metric], intervalOf(t))
		}
	}
	c.allMetrics = ceiling.New(all)
	for metric, intervals := range metrics {
		c.byMetric[metric] = ceiling.New(append(intervals, all...))
	}
	return c
}

func intervalOf(t pgregistry.Tombstone) ceiling.Interval {
	i := ceiling.Interval{From: ceiling.Always, To: ceiling.Forever, Ceiling: t.Ceiling}
	if t.FromUS != nil {
		i.From = *t.FromUS
	}
	if t.ToUS != nil {
		i.To = *t.ToUS
	}
	return i
}
