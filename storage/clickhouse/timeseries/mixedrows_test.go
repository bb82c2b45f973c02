package timeseries

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

var mixedTestColumns = []rollupColumn{
	countColumn, totalColumn, lowestColumn, highestColumn, firstColumn, lastColumn,
}

// mixedBlock returns a block of rows, each of which is of the given values.
func mixedBlock(m *mixedRows, series []uint64, times []int64, values [][]float64) *native.Block {
	block := native.NewBlock(m.columns)
	targets := block.Targets()
	for row, points := range values {
		*targets[0].(*uint64), *targets[1].(*int64) = series[row], times[row]
		*targets[2].(*uint64) = uint64(len(points))
		for i, f := range []Function{Sum, Min, Max, First, Last} {
			*targets[3+i].(*float64) = simple(f, points)
		}
		block.Keep()
	}
	return block
}

// TestMixedRowsAreThoseOfTheirPoints divides the points of a series among rows of minutes, single points and blocks, in
// any order, and compares the functions with those of all points of a bucket.
func TestMixedRowsAreThoseOfTheirPoints(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	minute := time.Minute.Microseconds()
	for range 200 {
		from := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC).UnixMicro()
		to := from + 3*time.Hour.Microseconds()
		grid := NewGrid([]time.Duration{time.Minute, 10 * time.Minute, time.Hour}[random.IntN(3)], time.UTC, from, to)
		q := fineQuery(grid)
		q.Series, q.Groups = q.Series[:1], q.Groups[:1]
		m := newMixedRows(newBucketRuns(&AggregateQuery{Grid: grid}, 0), mixedTestColumns)
		want := map[int64][]float64{}
		var blocks []*native.Block
		var times []int64
		var rows [][]float64
		cut := func() {
			series := slices.Repeat([]uint64{q.Series[0]}, len(times))
			blocks = append(blocks, mixedBlock(m, series, times, rows))
			times, rows = nil, nil
		}
		for start := from; start < to; start += minute {
			var values []float64
			asRollup := random.IntN(2) == 0
			for at := start; at < start+minute; at += 1 + random.Int64N(minute/3) {
				value := math.Round(random.NormFloat64() * 100)
				bucket := grid.Start(at)
				want[bucket] = append(want[bucket], value)
				if values = append(values, value); !asRollup {
					times, rows = append(times, at), append(rows, []float64{value})
				}
			}
			if asRollup {
				times, rows = append(times, start), append(rows, values)
			}
			if random.IntN(20) == 0 {
				cut()
			}
		}
		cut()
		random.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		for _, block := range blocks {
			require.NoError(t, m.add(block))
		}
		found := newAggregateRows(q, q.Functions)
		m.runs.combine(found)
		require.False(t, found.repeated)
		points := found.found[0]
		require.Len(t, points.TS, len(want))
		for row, bucket := range points.TS {
			for k, f := range q.Functions {
				require.InDelta(t, simple(f, want[bucket]), points.Columns[k].Numbers[row], 1e-9, f)
			}
		}
	}
}

// Columns that no function needs are not read.
func TestMixedRowsHaveOnlyTheRequestedColumns(t *testing.T) {
	grid := NewGrid(time.Minute, time.UTC, 0, time.Hour.Microseconds())
	q := &AggregateQuery{Series: []uint64{7}, Groups: []int{0}, Grid: grid, Limit: 10, Functions: []Function{Max}}
	m := newMixedRows(newBucketRuns(&AggregateQuery{Grid: grid}, 0), []rollupColumn{highestColumn})
	require.Len(t, m.columns, 4)
	block := native.NewBlock(m.columns)
	targets := block.Targets()
	for i, value := range []float64{-3, -2, -5} {
		*targets[0].(*uint64), *targets[1].(*int64), *targets[2].(*float64) = 7, int64(i), value
		block.Keep()
	}
	require.NoError(t, m.add(block))
	rows := newAggregateRows(q, q.Functions)
	m.runs.combine(rows)
	require.Equal(t, []float64{-2}, rows.found[0].Columns[0].Numbers)
}

// A point that was stored again is in another block, in the same or in the opposite order.
func TestARepeatedPointOfMixedRowsIsReported(t *testing.T) {
	const second = int64(1e6)
	grid := NewGrid(time.Minute, time.UTC, 0, time.Hour.Microseconds())
	q := fineQuery(grid)
	for name, blocks := range map[string][][]int64{
		"in another block":     {{20 * second, 21 * second, 25 * second}, {25 * second}},
		"in the same block":    {{20 * second, 21 * second, 21 * second}},
		"before, in one block": {{20 * second, 21 * second, 20 * second}},
	} {
		m := newMixedRows(newBucketRuns(&AggregateQuery{Grid: grid}, 0), mixedTestColumns)
		for _, times := range blocks {
			series, rows := slices.Repeat([]uint64{7}, len(times)), slices.Repeat([][]float64{{1}}, len(times))
			require.NoError(t, m.add(mixedBlock(m, series, times, rows)))
		}
		rows := newAggregateRows(q, q.Functions)
		m.runs.combine(rows)
		require.True(t, rows.repeated, name)
	}
}
