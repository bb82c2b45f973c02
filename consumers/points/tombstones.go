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
	// rememberedTombstones bounds the index: a source counts as one, and as one more for
	// each stretch of time that its tombstones tell apart.
	rememberedTombstones = 250_000
	// askedSources is how many sources one statement asks for.
	askedSources = 10_000
)

// owner is a source of a workspace.
type owner = pgregistry.SourceID

// tombstones is an index of what was deleted, of the sources that were stored last.
// Others are read from the registry when they are stored, and of each only tombstones
// that can cover a point that is about to be stored: those of consumed records are
// newer than nearly all.
type tombstones struct {
	sources *otter.Cache[owner, remembered]

	mu      sync.Mutex
	epoch   uint64 // what was remembered in an earlier one is not believed any more
	changes uint64 // how often something was forgotten
}

// remembered is what tombstones of a source cover from a version on.
type remembered struct {
	*covering        // nil: nothing
	floor     uint64 // tombstones with lower ceiling.Steps were not asked for
	epoch     uint64
}

func newTombstones() *tombstones {
	return &tombstones{epoch: 1, sources: otter.Must(&otter.Options[owner, remembered]{
		MaximumWeight: rememberedTombstones,
		Weigher:       func(_ owner, r remembered) uint32 { return uint32(1 + r.size()) },
	})}
}

// forget has sources read again that have new tombstones; all: every source.
func (t *tombstones) forget(sources []owner, all bool) {
	if len(sources) == 0 && !all {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	if all {
		t.epoch++
		return
	}
	for _, source := range sources {
		t.sources.Invalidate(source)
	}
}

// find puts into found what covers points of sources, each from a version on. A source
// that nothing covers is left out.
func (t *tombstones) find(
	ctx context.Context, registry *stores.DB, floors map[owner]uint64, found map[owner]*covering,
) error {
	t.mu.Lock()
	epoch, changes := t.epoch, t.changes
	t.mu.Unlock()
	var missing []pgregistry.SourceFloor
	for source, floor := range floors {
		known, _ := t.sources.GetIfPresent(source)
		switch {
		case known.epoch != epoch || known.floor > floor:
			missing = append(missing, pgregistry.SourceFloor{SourceID: source, Floor: floor})
		case known.covering != nil:
			found[source] = known.covering
		}
	}
	for some := range slices.Chunk(missing, askedSources) {
		list, gone, err := registry.TombstonesOf(ctx, some)
		if err != nil {
			return err
		}
		read := coverings(some, list, gone)
		for source, covers := range read {
			found[source] = covers
		}
		t.remember(some, read, epoch, changes)
	}
	return nil
}

// remember takes up what was read, unless something was forgotten since: it may be
// older than that.
func (t *tombstones) remember(sources []pgregistry.SourceFloor, read map[owner]*covering, epoch, changes uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.epoch != epoch || t.changes != changes {
		return
	}
	for _, s := range sources {
		t.sources.Set(s.SourceID, remembered{read[s.SourceID], s.Floor, epoch})
	}
}

// covering is what the tombstones of a source cover.
type covering struct {
	whole   bool                     // the source itself is deleted
	all     ceiling.Steps            // of metrics that are not in the map
	metrics map[string]ceiling.Steps // what covers all metrics included
}

// of returns what covers a metric.
func (c *covering) of(metric []byte) ceiling.Steps {
	if c == nil {
		return nil
	}
	if own, ok := c.metrics[string(metric)]; ok {
		return own
	}
	return c.all
}

func (c *covering) size() int {
	if c == nil {
		return 0
	}
	n := len(c.all)
	for _, own := range c.metrics {
		n += len(own)
	}
	return n
}

// coverings returns what tombstones cover, by source.
func coverings(asked []pgregistry.SourceFloor, list []pgregistry.Tombstone, gone []uuid.UUID) map[owner]*covering {
	bySource := map[owner][]pgregistry.Tombstone{}
	for _, t := range list {
		key := owner{Workspace: t.Workspace, Source: t.Source}
		bySource[key] = append(bySource[key], t)
	}
	for _, s := range asked {
		if len(gone) > 0 && slices.Contains(gone, s.Workspace) {
			bySource[s.SourceID] = []pgregistry.Tombstone{{Ceiling: pgregistry.CeilingUnlimited}}
		}
	}
	found := make(map[owner]*covering, len(bySource))
	for source, own := range bySource {
		found[source] = coveringOf(own)
	}
	return found
}

func coveringOf(list []pgregistry.Tombstone) *covering {
	c := &covering{metrics: map[string]ceiling.Steps{}}
	var all []ceiling.Interval
	metrics := map[string][]ceiling.Interval{}
	for _, t := range list {
		c.whole = c.whole || t.Ceiling == pgregistry.CeilingUnlimited
		if t.Metric == nil {
			all = append(all, intervalOf(t))
		} else {
			metrics[*t.Metric] = append(metrics[*t.Metric], intervalOf(t))
		}
	}
	c.all = ceiling.New(all)
	for metric, own := range metrics {
		c.metrics[metric] = ceiling.New(append(own, all...))
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
