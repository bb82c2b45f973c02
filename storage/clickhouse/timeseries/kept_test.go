package timeseries_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// The kept points of a series are those of a filter in Go, whatever the bounds of the other
// series are.
func TestOnlyWhatIsKeptIsInAnswers(t *testing.T) {
	s := newStore(t)
	var series []uint64
	for id := range uint64(30) {
		series = append(series, id)
		for n := range int64(10) {
			s.Insert(t, "points", row(id, t0+n, float64(n), 1))
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 2))
	for round := range 20 {
		kept := timeseries.KeptFrom{}
		for _, id := range series {
			switch {
			case round < 3: // all the same
				kept[id] = t0 + int64(round*4)
			case dice.IntN(3) > 0:
				kept[id] = t0 - 3 + int64(dice.IntN(15))
			}
		}
		if round == 3 {
			clear(kept)
		}
		from, to := t0+int64(dice.IntN(4)), t0+6+int64(dice.IntN(5))
		want := map[uint64]string{}
		for _, id := range series {
			first := from
			if us, ok := kept[id]; ok {
				first = max(first, us)
			}
			if n := min(to, t0+10) - first; n > 0 {
				want[id] = fmt.Sprint(n)
			}
		}
		span := timeseries.Range{FromUS: from, ToUS: to, KeptFrom: kept}
		raw, _, err := s.RawPoints(t.Context(), timeseries.RawQuery{Numbers: series, Range: span, Limit: 1000})
		require.NoError(t, err)
		got := map[uint64]string{}
		for id, p := range raw {
			got[id] = fmt.Sprint(len(p.TS))
		}
		require.Equal(t, want, got, "round %d", round)

		groups := make([]int, len(series))
		for i := range groups {
			groups[i] = i
		}
		rows, _, err := s.Aggregate(t.Context(), timeseries.AggregateQuery{
			Series: series, Groups: groups, Range: span, Functions: []timeseries.Function{timeseries.Count}, Limit: 1000,
		})
		require.NoError(t, err)
		got = map[uint64]string{}
		for i, p := range rows {
			got[series[i]] = fmt.Sprint(p.Columns[0].Numbers[0])
		}
		require.Equal(t, want, got, "round %d", round)
	}
}
