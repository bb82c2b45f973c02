package points

import (
	"sync"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres"
)

// owner is a source of a workspace.
type owner struct{ workspace, source uuid.UUID }

// graves are the tombstones that are known, by source. They only ever grow more:
// a tombstone that another one covers is left out.
type graves struct {
	mu      sync.RWMutex
	sources map[owner][]grave
	gone    map[uuid.UUID]uint64 // workspaces that are deleted, each with its number as a grave
	count   uint64               // of all that were ever taken up
}

// grave is a tombstone as it is compared with points.
type grave struct {
	metric   string
	all      bool  // of all metrics
	from, to int64 // microseconds, to is exclusive
	ceiling  uint64
	number   uint64 // in the order in which they became known, from 1
}

// Bounds of a grave that has none.
const (
	always  = -1 << 63
	forever = 1<<63 - 1
)

func newGraves() *graves { return &graves{sources: map[owner][]grave{}, gone: map[uuid.UUID]uint64{}} }

// add takes up tombstones.
func (g *graves) add(tombstones []postgres.Tombstone) {
	if len(tombstones) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range tombstones {
		key, stone := owner{t.Workspace, t.Source}, graveOf(t)
		have := g.sources[key]
		if covered(have, stone) {
			continue
		}
		g.count++
		stone.number = g.count
		kept := have[:0:0] // a new slice: readers may hold the old one
		for _, other := range have {
			if !stone.covers(other) {
				kept = append(kept, other)
			}
		}
		g.sources[key] = append(kept, stone)
	}
}

// close takes up workspaces that are deleted: all of their points are void.
func (g *graves) close(workspaces []uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range workspaces {
		if _, known := g.gone[id]; !known {
			g.count++
			g.gone[id] = g.count
		}
	}
}

// known gives the number of the last grave that is known.
func (g *graves) known() uint64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.count
}

// of gives the graves of a source.
func (g *graves) of(source owner) []grave {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if number, gone := g.gone[source.workspace]; gone {
		return []grave{{all: true, from: always, to: forever, ceiling: postgres.CeilingUnlimited, number: number}}
	}
	return g.sources[source]
}

func graveOf(t postgres.Tombstone) grave {
	stone := grave{all: t.Metric == nil, from: always, to: forever, ceiling: t.Ceiling}
	if t.Metric != nil {
		stone.metric = *t.Metric
	}
	if t.FromUS != nil {
		stone.from = *t.FromUS
	}
	if t.ToUS != nil {
		stone.to = *t.ToUS
	}
	return stone
}

// deletion gives what the grave deletes in ClickHouse.
func (s grave) deletion(of owner) clickhouse.Deletion {
	d := clickhouse.Deletion{Workspace: of.workspace, Source: of.source, Ceiling: s.ceiling, WholeSource: s.whole()}
	if !s.all {
		d.Metric = &s.metric
	}
	if s.from != always {
		d.FromUS = &s.from
	}
	if s.to != forever {
		d.ToUS = &s.to
	}
	return d
}

func covered(have []grave, stone grave) bool {
	for _, other := range have {
		if other.covers(stone) {
			return true
		}
	}
	return false
}

// covers reports whether what lies in other lies in this grave too.
func (s grave) covers(other grave) bool {
	return (s.all || !other.all && s.metric == other.metric) && s.from <= other.from && s.to >= other.to && s.ceiling >= other.ceiling
}

// whole reports whether it is the grave of the source itself.
func (s grave) whole() bool { return s.ceiling == postgres.CeilingUnlimited }

// holds says what of a span of points of one version lies in the grave: all, or
// some of it.
func (s grave) holds(span *pointblock.Span, version uint64) (all, some bool) {
	if version > s.ceiling || !s.all && s.metric != string(span.Metric) || span.LastUS < s.from || span.FirstUS >= s.to {
		return false, false
	}
	return span.FirstUS >= s.from && span.LastUS < s.to, true
}

// holdsAt reports whether one moment lies in the grave.
func (s grave) holdsAt(ts int64) bool { return ts >= s.from && ts < s.to }

// wholeGone reports whether the source itself is deleted.
func wholeGone(stones []grave) bool {
	for _, s := range stones {
		if s.whole() {
			return true
		}
	}
	return false
}
