package timeseries

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheNewestRowsAreKept compares the kept rows with a map. The rows come in runs of several parts.
func TestTheNewestRowsAreKept(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		type place struct {
			series uint64
			us     int64
		}
		newest := map[place]uint64{} // versions
		v := versionedRows{values: make([][]float64, 1)}
		version := uint64(1)
		for range random.IntN(7) {
			var part []place
			for range random.IntN(60) {
				part = append(part, place{random.Uint64N(4), random.Int64N(20)})
			}
			slices.SortFunc(part, func(x, y place) int {
				return cmp.Or(cmp.Compare(x.series, y.series), cmp.Compare(x.us, y.us))
			})
			from := len(v.series)
			for _, p := range slices.Compact(part) {
				version++
				v.series, v.times, v.ranks = append(v.series, p.series), append(v.times, p.us), append(v.ranks, version)
				v.values[0] = append(v.values[0], float64(version))
				state := uint8(0)
				newest[p] = version
				if random.IntN(5) == 0 {
					state = goneRow
					delete(newest, p)
				}
				v.states = append(v.states, state)
			}
			v.findRuns(from)
		}
		got, last := map[place]uint64{}, int32(-1)
		for row := range v.newest() {
			if last >= 0 {
				require.Negative(t, v.comparePlace(last, row), "the rows are in order")
			}
			last = row
			got[place{v.series[row], v.times[row]}] = v.ranks[row]
		}
		require.Equal(t, newest, got)
		require.False(t, v.repeated)
	}
}

// TestABucketOfPointsMustBeTheOnlyOne requires that a second row with version 0 is reported.
func TestABucketOfPointsMustBeTheOnlyOne(t *testing.T) {
	for _, versions := range [][]uint64{{0, 0}, {0, 5}} {
		v := versionedRows{
			rowOrder: rowOrder{series: []uint64{7, 7}, times: []int64{1, 1}, ranks: versions},
			states:   make([]uint8, 2), values: [][]float64{{1, 2}},
		}
		v.findRuns(0)
		require.Len(t, slices.Collect(v.newest()), 1)
		require.True(t, v.repeated)
	}
}
