package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// entry applies a record of one partition to a table.
type entry func(t *table, version int64)

func points(source uuid.UUID, metric string, value float64, ts ...int64) entry {
	identity := pointblock.Identity{Source: source, Metric: metric, Kind: pointblock.KindNumber}
	id := identity.Fingerprint(&[16]byte{}).SeriesID()
	return func(t *table, version int64) { t.put(id, identity, ts, func(int) any { return value }, version) }
}

func deletion(d pointblock.Deletion) entry {
	return func(t *table, version int64) { t.remove(uuid.Nil, d, version) }
}

// read applies the records of a log from one offset to another, exclusive.
func (t *table) read(log []entry, from, to int) {
	for offset := from; offset < to; offset++ {
		log[offset](t, int64(offset))
	}
}

// dump returns the current points by series and time.
func (t *table) dump() map[string]any {
	all := map[string]any{}
	for source, ofSource := range t.series {
		for _, s := range ofSource {
			for at, p := range s.points {
				all[fmt.Sprint(source, s.identity.Metric, at)] = p.value
			}
		}
	}
	return all
}

func TestTheLaterPointWinsAndADeletionCoversEarlierOnes(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	log := []entry{
		points(a, "m", 1, 10, 20, 30), points(a, "m", 2, 20), points(a, "n", 3, 20), points(b, "m", 4, 20),
		deletion(pointblock.Deletion{
			Source: a, Metric: "m", HasMetric: true, FromUS: 20, HasFrom: true, ToUS: 30, HasTo: true,
		}),
		deletion(pointblock.Deletion{Source: b, WholeSource: true}),
		points(a, "m", 5, 21), points(b, "m", 6, 21),
	}
	table := newTable()
	table.read(log, 0, len(log))
	m, n := fmt.Sprint(a, "m"), fmt.Sprint(a, "n")
	want := map[string]any{m + "10": 1.0, m + "30": 1.0, n + "20": 3.0, m + "21": 5.0}
	require.Equal(t, want, table.dump())

	all := append(slices.Clone(log), deletion(pointblock.Deletion{WholeWorkspace: true}), points(a, "m", 7, 40))
	table.read(all, len(log), len(all))
	require.Empty(t, table.dump())
	table.read(all, 0, len(log))
	require.Empty(t, table.dump(), "also when it is read again")
}

// The table at the end of the log is the same, regardless of which parts of the log are read again,
// and how often.
func TestReadingAgainChangesNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	sources := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	for range 200 {
		var log []entry
		for len(log) < 30 {
			source, metric, at := sources[random.IntN(3)], string(rune('m'+random.IntN(2))), int64(random.IntN(8))
			switch random.IntN(8) {
			case 0:
				log = append(log, deletion(pointblock.Deletion{
					Source: source, Metric: metric, HasMetric: random.IntN(2) == 0, FromUS: at, HasFrom: true, ToUS: at + 3,
					HasTo: random.IntN(2) == 0,
				}))
			case 1:
				if random.IntN(5) == 0 {
					log = append(log, deletion(pointblock.Deletion{Source: source, WholeSource: true}))
				}
			default:
				log = append(log, points(source, metric, float64(len(log)), at, at+1))
			}
		}
		once, repeated := newTable(), newTable()
		once.read(log, 0, len(log))
		for at := 0; at < len(log); {
			to := min(len(log), at+1+random.IntN(8))
			repeated.read(log, random.IntN(at+1), to)
			at = to
		}
		repeated.read(log, random.IntN(len(log)), len(log))
		require.Equal(t, once.dump(), repeated.dump())
	}
}
