package timeseries

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// runOf is the rows of one block.
type runOf struct {
	series []uint64
	times  []int64
	values []float64
}

func (b *bucketRuns) addAll(r runOf) {
	before := len(b.series)
	for row := 0; row < len(r.series); {
		row = b.addRun(r.series, r.times, r.values, row)
	}
	b.findRuns(before)
}

// fineQuery is a query of two series with all functions of a run.
func fineQuery(grid *Grid) *AggregateQuery {
	q := &AggregateQuery{Series: []uint64{7, 9}, Groups: []int{0, 1}, Grid: grid, Limit: 1000}
	for f := range runFunctions {
		q.Functions = append(q.Functions, f)
	}
	return q
}

// TestFineBucketsAreThoseOfTheirPoints divides the points of two series among parts and blocks, in any
// order, and compares the functions with those of all points of a bucket.
func TestFineBucketsAreThoseOfTheirPoints(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for range 200 {
		from := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC).UnixMicro()
		to := from + 6*time.Hour.Microseconds()
		grid := NewGrid([]time.Duration{time.Minute, 10 * time.Minute, 3 * time.Hour}[random.IntN(3)], zone, from, to)
		q, want := fineQuery(grid), map[int]map[int64][]float64{0: {}, 1: {}}
		var blocks []runOf
		for i, id := range q.Series {
			var part runOf
			for at := from; at < to; at += 1 + random.Int64N(5*time.Minute.Microseconds()) {
				value := math.Round(random.NormFloat64() * 100)
				bucket := grid.Start(at)
				want[i][bucket] = append(want[i][bucket], value)
				part.series, part.times = append(part.series, id), append(part.times, at)
				part.values = append(part.values, value)
				if random.IntN(20) == 0 {
					blocks, part = append(blocks, part), runOf{}
				}
			}
			blocks = append(blocks, part)
		}
		random.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		b := newBucketRuns(&AggregateQuery{Grid: grid}, 0)
		for _, block := range blocks {
			b.addAll(block)
		}
		rows := newAggregateRows(q, q.Functions)
		b.combine(rows)
		require.False(t, rows.repeated)
		for group, buckets := range want {
			found := rows.found[group]
			require.Len(t, found.TS, len(buckets))
			require.True(t, slices.IsSorted(found.TS))
			for row, bucket := range found.TS {
				for k, f := range q.Functions {
					require.InDelta(t, simple(f, buckets[bucket]), found.Columns[k].Numbers[row], 1e-9, f)
				}
			}
		}
	}
}

// simple returns a function of the values of a bucket, in the order of time.
func simple(f Function, values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return map[Function]float64{
		Avg: sum / float64(len(values)), Sum: sum, Count: float64(len(values)), Min: slices.Min(values),
		Max: slices.Max(values), First: values[0], Last: values[len(values)-1],
	}[f]
}

// TestARepeatedPointOfAFineBucketIsReported stores a point again in another part, or overwrites it.
func TestARepeatedPointOfAFineBucketIsReported(t *testing.T) {
	const second = int64(1e6)
	grid := NewGrid(10*time.Second, time.UTC, 0, 100*second)
	part := runOf{[]uint64{7, 7, 7}, []int64{20 * second, 21 * second, 25 * second}, []float64{1, 2, 3}}
	for name, c := range map[string]struct {
		times    []int64
		repeated bool
	}{
		"the first again":     {[]int64{20 * second}, true},
		"the last again":      {[]int64{25 * second}, true},
		"one between":         {[]int64{23 * second}, true}, // it may be another point, which is not certain
		"later":               {[]int64{26 * second}, false},
		"before":              {[]int64{19 * second}, false},
		"all around":          {[]int64{19 * second, 29 * second}, false},
		"around, same bucket": {[]int64{20*second - 1, 20*second + 1}, true},
	} {
		for _, swapped := range []bool{false, true} {
			b, other := newBucketRuns(&AggregateQuery{Grid: grid}, 0), runOf{times: c.times}
			for range c.times {
				other.series, other.values = append(other.series, 7), append(other.values, 5)
			}
			blocks := []runOf{part, other}
			if swapped {
				slices.Reverse(blocks)
			}
			for _, block := range blocks {
				b.addAll(block)
			}
			rows := newAggregateRows(fineQuery(grid), []Function{Sum})
			b.combine(rows)
			require.Equal(t, c.repeated, rows.repeated, name)
		}
	}
}
